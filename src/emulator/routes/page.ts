import { counted } from '../../text/counted.ts'
import { escapeJson } from '../../text/escape-json.ts'
import { type Answer, json } from '../answer.ts'
import type { Store } from '../store.ts'
import type { Tokens } from '../tokens.ts'

const shownEvents = 20
const shownLength = 2000

const style = `
  body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; color-scheme: light dark }
  pre { overflow-x: auto; padding: .75rem; border: 1px solid #8886; border-radius: 6px }
  h2 small { font-weight: normal; opacity: .7 }`

/**
 * Shows the received events as an HTML page. If the client does not accept HTML, the answer is JSON with the event
 * count of each dataset. Neither shows an organization, and both redact accepted tokens.
 */
export function pageAnswer(store: Store, tokens: Tokens, accept: string | undefined): Answer {
  if (!accept?.includes('text/html')) {
    return json(200, {
      datasets: store.datasets().map(name => ({ name: tokens.redact(name), events: store.count(name) })),
    })
  }
  const shown = (text: string) => escaped(shortened(escapeJson(tokens.redact(text))))
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    // Logged text is not trusted. If it ever gets past the escaping, the policy keeps the browser from running it.
    'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
  }
  return { kind: 'answer', status: 200, headers, body: page(store, shown) }
}

function page(store: Store, shown: (text: string) => string): string {
  const sections = store.datasets().map(name => {
    const lines = store.lastLines(name, shownEvents).map(shown)
    return `<h2>${shown(name)} <small>${counted(store.count(name), 'event')}</small></h2>\n<pre>${lines.join('\n')}</pre>`
  })
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>logferry emulator</title>
<style>${style}
</style>
<h1>logferry emulator</h1>
<p>The last ${shownEvents} events of each dataset, newest last. Reload to see more.</p>
${sections.join('\n') || '<p>Nothing has arrived yet.</p>'}
</html>
`
}

function shortened(line: string): string {
  return line.length > shownLength ? `${line.slice(0, shownLength)}…` : line
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, char => `&#${char.charCodeAt(0)};`)
}
