import { setUps } from '../set-ups/catalogue.ts'
import { chart, groupColours } from './charts.ts'
import { labelOf, written } from './figure-labels.ts'
import { busyNote } from './machine.ts'
import {
  type ExperimentResults,
  figureOf,
  interruptedNote,
  type Results,
  type Row,
  valuesOf,
  whatIsMissing,
  whyNone,
} from './results.ts'
import { isMet, targetsOf } from './targets.ts'
import { boundAsText, valueAsText } from './text.ts'

/** The report: one HTML file that needs nothing else. */
export function reportPage(results: Results): string {
  const { machine, version, startedAt, command } = results
  const busy = busyNote(machine)
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>logferry ${escaped(version)}: benchmark</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>logferry ${escaped(version)}: benchmark</h1>
<p class="facts">${escaped(startedAt.slice(0, 16).replace('T', ' '))} UTC · ${escaped(machine.cpu)}, ${machine.cores} cores,
${machine.memoryGiB} GiB · ${escaped(machine.platform)} · Node ${escaped(machine.node)} · <code>${escaped(command)}</code></p>
${results.interrupted ? `<p class="missed">${escaped(interruptedNote)}</p>` : ''}
${busy === undefined ? '' : `<p class="missed">${escaped(busy)}</p>`}
<p class="legend">${legend()}</p>
${targetsSection(results)}
${results.experiments.map(experimentSection).join('\n')}
${setUpsSection(results)}
</main>
</body>
</html>
`
}

function legend(): string {
  const entries = Object.entries(groupColours)
  return entries.map(([group, colour]) => `<span><i style="background:${colour}"></i>${group}</span>`).join(' ')
}

function targetsSection(results: Results): string {
  const targets = targetsOf(results)
  if (targets.every(({ value }) => value === undefined)) return ''
  const rows = targets.map(target => {
    const met = isMet(target)
    const mark = met === undefined ? ['none', '–'] : met ? ['met', 'met'] : ['missed', 'not met']
    return `<tr><td>${escaped(target.name)}<small>${escaped(target.from)}</small></td><td>${valueAsText(target)}</td>
<td>${boundAsText(target)}</td><td class="${mark[0]}">${mark[1]}</td></tr>`
  })
  return `<section><h2>Targets</h2><p>Ratios within this run, so that the machine's speed is not in them.</p>
<table><thead><tr><th></th><th>measured</th><th>target</th><th></th></tr></thead><tbody>${rows.join('')}</tbody></table></section>`
}

function experimentSection(results: ExperimentResults): string {
  const { name, question, charts } = results
  const drawn = charts.flatMap(figure => {
    const svg = chart(results, figure)
    return svg === undefined
      ? []
      : [`<figure><figcaption>${escaped(labelOf(figure).title)}</figcaption>${svg}</figure>`]
  })
  return `<section id="${name}"><h2>${escaped(name)}</h2><p>${escaped(question)}</p>
${drawn.join('\n')}
<details><summary>All figures</summary><div class="wide">${table(results)}</div></details>${missing(results.rows)}</section>`
}

function table({ shows, rows }: ExperimentResults): string {
  const figures = shows.filter(figure => rows.some(row => valuesOf(row, figure).length > 0))
  const heads = figures.map(
    figure => `<th>${escaped(labelOf(figure).title)}<small>${labelOf(figure).unit}</small></th>`,
  )
  const body = rows
    .filter(row => whyNone(row) === undefined)
    .map(row => {
      const cells = figures.map(figure => `<td>${cell(row, figure)}</td>`)
      const name = [row.subject, row.variant].filter(Boolean).join(', ')
      return `<tr><td>${escaped(name)}</td>${cells.join('')}</tr>`
    })
  return `<table><thead><tr><th></th>${heads.join('')}</tr></thead><tbody>${body.join('')}</tbody></table>`
}

/** The median; where the rounds differ, the least and the most of them below. */
function cell(row: Row, figure: string): string {
  const summary = figureOf(row, figure)
  if (summary === undefined) return ''
  const [median, least, most] = [summary.median, summary.least, summary.most].map(value => written(figure, value))
  return least === most ? `${median}` : `${median}<small>${least} … ${most}</small>`
}

function missing(rows: readonly Row[]): string {
  const reasons = rows.flatMap(row => {
    const why = whatIsMissing(row)
    return why === undefined
      ? []
      : [`<li>${escaped([row.subject, row.variant].filter(Boolean).join(', '))}: ${escaped(why)}</li>`]
  })
  return reasons.length === 0 ? '' : `<p>Missing:</p><ul>${reasons.join('')}</ul>`
}

function setUpsSection({ experiments }: Results): string {
  const measured = new Set(experiments.flatMap(({ rows }) => rows.map(({ subject }) => subject)))
  const rows = setUps
    .filter(({ name }) => measured.has(name))
    .map(({ name, what }) => `<tr><td>${escaped(name)}</td><td class="text">${escaped(what)}</td></tr>`)
  if (rows.length === 0) return ''
  return `<section><h2>Set-ups</h2><table><tbody>${rows.join('')}</tbody></table></section>`
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}

const style = `
:root { color-scheme: light dark; --line: light-dark(#e2e5ea, #343a44); --soft: light-dark(#5d6673, #9aa3b0); }
body { margin: 0; font: 15px/1.5 system-ui, sans-serif; background: light-dark(#fbfcfd, #14171c); color: light-dark(#1c222b, #e4e8ee); }
main { max-width: 940px; margin: 0 auto; padding: 32px 20px 80px; }
h1 { font-size: 26px; margin: 0 0 4px; } h2 { font-size: 20px; margin: 0 0 4px; }
section { margin-top: 40px; padding-top: 24px; border-top: 1px solid var(--line); }
.facts { color: var(--soft); margin: 0 0 12px; }
.legend span { margin-right: 18px; } .legend i { display: inline-block; width: 12px; height: 12px; border-radius: 3px; margin-right: 6px; vertical-align: -1px; }
figure { margin: 20px 0; } figcaption { font-weight: 600; margin-bottom: 2px; }
svg { max-width: 100%; height: auto; font-size: 12px !important; background: none !important; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 13.5px; }
th, td { padding: 5px 12px 5px 0; border-bottom: 1px solid var(--line); text-align: right; vertical-align: top; white-space: nowrap; }
td:first-child, th:first-child, td.text { text-align: left; } section > table td:first-child { white-space: normal; }
th { font-weight: 600; } small { display: block; color: var(--soft); font-weight: 400; font-size: 11.5px; }
.met { color: light-dark(#1a7f3c, #5fd38a); font-weight: 600; } .missed { color: light-dark(#b3261e, #ff8a80); font-weight: 600; } .none { color: var(--soft); }
.wide { overflow-x: auto; } summary { cursor: pointer; color: var(--soft); margin: 8px 0; } code { font-size: 13px; }
`
