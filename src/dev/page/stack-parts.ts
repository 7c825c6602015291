/** The parts of a stack: frames of the application, frames of Node and of packages, and the text between them. */

export function isStack(text: string): boolean {
  return /\n[ \t]+at \S/.test(text)
}

export interface StackPart {
  kind: 'text' | 'own' | 'foreign'
  lines: string[]
}

const foreign = /\bnode:|[/\\]node_modules[/\\]|<anonymous>|\(native\)|^\s*at async Promise\.all/

/** Groups the lines of a stack. Text between frames, such as a cause, stays as it is. */
export function stackParts(stack: string): StackPart[] {
  const parts: StackPart[] = []
  for (const line of stack.split('\n')) {
    const kind = !/^\s+at \S/.test(line) ? 'text' : foreign.test(line) ? 'foreign' : 'own'
    const last = parts.at(-1)
    if (last?.kind === kind) last.lines.push(line)
    else parts.push({ kind, lines: [line] })
  }
  return parts
}
