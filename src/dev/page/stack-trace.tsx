/** A stack as people read it: frames of the application stand out, frames of Node and of packages fold together. */
import { useState } from 'preact/hooks'
import { plural } from './format.ts'
import { Text } from './parts.tsx'
import { stackParts } from './stack-parts.ts'

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
