/** A stack as people read it: frames of the application stand out, frames of Node and of packages fold together. */
import { useState } from 'preact/hooks'
import { plural } from './format.ts'
import { Text } from './parts.tsx'

export function isStack(text: string): boolean {
  return /\n\s+at \S/.test(text)
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

const maxParts = 500

export function StackTrace({ text }: { text: string }) {
  const parts = stackParts(text)
  return (
    <div class="stack">
      {parts.slice(0, maxParts).map((part, at) =>
        part.kind === 'foreign' && part.lines.length > 1 ? (
          <ForeignFrames key={at} lines={part.lines} />
        ) : (
          <div key={at} class={`frames ${part.kind}`}>
            <Text text={part.lines.join('\n')} lines />
          </div>
        ),
      )}
    </div>
  )
}

function ForeignFrames({ lines }: { lines: string[] }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <div class="frames foreign">
      <button type="button" class="link" aria-expanded={isOpen} tabIndex={-1} onClick={() => setOpen(!isOpen)}>
        {isOpen ? '▾' : '▸'} {plural(lines.length, 'frame')} of Node and packages
      </button>
      {isOpen && (
        <div>
          <Text text={lines.join('\n')} lines />
        </div>
      )}
    </div>
  )
}
