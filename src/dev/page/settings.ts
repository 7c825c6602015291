/** What the page remembers in this browser: preferences, and never an event or a token. */

export interface Settings {
  theme: 'auto' | 'light' | 'dark'
  utc: boolean
  /** Single keys such as `j` and `x` act on the page. */
  shortcuts: boolean
  /** Width of the panel beside the list, in pixels. */
  panelWidth: number
  /** Facets beside level, dataset and source. */
  facets: string[]
  /** The last 20 queries, newest first. */
  history: string[]
  /** Columns that were last used with a dataset; '' for a query without one. */
  columns: [dataset: string, columns: string[]][]
  /** Instances, and hours a day, by which the bytes of this computer are multiplied. */
  cost: { instances: number; hours: number }
}

const name = 'logferry.dev'
const maxHistory = 20
const maxDatasets = 50

const defaults: Settings = {
  theme: 'auto',
  utc: false,
  shortcuts: true,
  panelWidth: 460,
  facets: [],
  history: [],
  columns: [],
  cost: { instances: 1, hours: 24 },
}

export function readSettings(): Settings {
  try {
    return checked(JSON.parse(localStorage.getItem(name) ?? '{}'))
  } catch {
    return defaults
  }
}

export function writeSettings(settings: Settings): void {
  try {
    localStorage.setItem(name, JSON.stringify(settings))
  } catch {
    // A browser that keeps nothing forgets the preferences, and the page works.
  }
}

/** Takes only what has the right type: an extension or an older page may have written anything. */
function checked(stored: Partial<Record<keyof Settings, unknown>>): Settings {
  const { theme, utc, shortcuts, panelWidth, cost } = stored
  const { instances, hours } = (typeof cost === 'object' && cost !== null ? cost : {}) as Record<string, unknown>
  return {
    theme: theme === 'light' || theme === 'dark' ? theme : 'auto',
    utc: utc === true,
    shortcuts: shortcuts !== false,
    panelWidth: typeof panelWidth === 'number' ? Math.min(Math.max(panelWidth, 320), 1200) : defaults.panelWidth,
    facets: texts(stored.facets).slice(0, 8),
    history: texts(stored.history).slice(0, maxHistory),
    columns: Array.isArray(stored.columns)
      ? stored.columns
          .filter(entry => Array.isArray(entry) && typeof entry[0] === 'string')
          .map(([dataset, columns]): [string, string[]] => [dataset, texts(columns)])
          .slice(0, maxDatasets)
      : [],
    cost: { instances: positive(instances, 1), hours: Math.min(positive(hours, 24), 24) },
  }
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter(text => typeof text === 'string') : []
}

function positive(value: unknown, otherwise: number): number {
  return typeof value === 'number' && value > 0 && Number.isFinite(value) ? value : otherwise
}

export function withQuery(settings: Settings, q: string): Settings {
  if (q.trim() === '') return settings
  return { ...settings, history: [q, ...settings.history.filter(one => one !== q)].slice(0, maxHistory) }
}

/** The one dataset that a query asks for; '' if it asks for none or for several. */
export function datasetOf(q: string): string {
  const named = [...q.matchAll(/(?:^|\s)dataset:([\w.-]+)(?=\s|$)/g)]
  return named.length === 1 ? (named[0]?.[1] ?? '') : ''
}

/** The columns that were last used with the dataset of a query. */
export function columnsFor(settings: Settings, q: string): string[] {
  const dataset = datasetOf(q)
  return settings.columns.find(([name]) => name === dataset)?.[1] ?? []
}

export function withColumns(settings: Settings, dataset: string, columns: string[]): Settings {
  const others = settings.columns.filter(([name]) => name !== dataset)
  return { ...settings, columns: [[dataset, columns] as [string, string[]], ...others].slice(0, maxDatasets) }
}
