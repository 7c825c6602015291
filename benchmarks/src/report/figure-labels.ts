/** How a figure is called and written. */
export interface FigureLabel {
  readonly title: string
  readonly unit: string
  /** Digits after the point; for values under 10 one more. */
  readonly digits: number
  readonly better: 'less' | 'more'
}

const labels: Readonly<Record<string, FigureLabel>> = {
  mainCpuUs: { title: 'main-thread CPU', unit: 'µs/event', digits: 1, better: 'less' },
  processCpuUs: { title: 'CPU of all threads', unit: 'µs/event', digits: 1, better: 'less' },
  callNs: { title: 'log call', unit: 'ns', digits: 0, better: 'less' },
  eventsPerSecond: { title: 'events arrived', unit: '/s', digits: 0, better: 'more' },
  coreShare: { title: 'share of a processor', unit: '%', digits: 1, better: 'less' },
  delivered: { title: 'delivered', unit: '', digits: 0, better: 'more' },
  lost: { title: 'lost', unit: 'events', digits: 0, better: 'less' },
  duplicated: { title: 'twice', unit: 'events', digits: 0, better: 'less' },
  peakRssMb: { title: 'peak memory', unit: 'MB', digits: 0, better: 'less' },
  loopDelayP99Ms: { title: 'loop delay p99', unit: 'ms', digits: 1, better: 'less' },
  loopDelayMaxMs: { title: 'loop delay max', unit: 'ms', digits: 1, better: 'less' },
  longestTurnMs: { title: 'longest turn', unit: 'ms', digits: 1, better: 'less' },
  turnP99Ms: { title: 'turn p99', unit: 'ms', digits: 1, better: 'less' },
  wireMb: { title: 'on the wire', unit: 'MB', digits: 1, better: 'less' },
  requests: { title: 'requests', unit: '', digits: 0, better: 'less' },
  mainNs: { title: 'main thread', unit: 'ns/event', digits: 0, better: 'less' },
  allNs: { title: 'all threads', unit: 'ns/event', digits: 0, better: 'less' },
  importMs: { title: 'import', unit: 'ms', digits: 1, better: 'less' },
  modules: { title: 'files loaded', unit: '', digits: 0, better: 'less' },
  deliveryMs: { title: 'log call to delivery', unit: 'ms', digits: 1, better: 'less' },
  wallMs: { title: 'process, start to end', unit: 'ms', digits: 1, better: 'less' },
}

export function labelOf(figure: string): FigureLabel {
  return labels[figure] ?? { title: figure, unit: '', digits: 2, better: 'less' }
}

/** A value as people read it; shares are in per cent. */
export function written(figure: string, value: number): string {
  const { digits } = labelOf(figure)
  const shown = figure === 'coreShare' ? value * 100 : value
  const fractionDigits = digits > 0 && Math.abs(shown) < 10 ? digits + 1 : digits
  return shown.toLocaleString('en', { minimumFractionDigits: fractionDigits, maximumFractionDigits: fractionDigits })
}
