/**
 * The address of the page and what it means. Everything that a link should bring back is in it: a reload, the Back
 * button and a second tab show the same view.
 */
import { joinedWithCommas, splitAtCommas } from '../../text/comma-list.ts'
import { maxQueryChars, type Screen, type Sort, screens, type ViewQuery } from '../protocol.ts'

/** The screens that have a tab. The others open from a row, or from the list of events. */
export const tabs = ['events', 'requests', 'fields', 'cost', 'faults'] as const satisfies readonly Screen[]
export type Tab = (typeof tabs)[number]

export interface Place extends ViewQuery {
  screen: Screen
  /** The trace, the event, or the request that is open; '' for none. */
  id: string
  /** The time of the event that is open as a page: it finds the event again after a restart with `--load`. */
  time: string
  /** Clauses that are switched off, but kept to be switched on again. */
  off: string[]
  /** Arrival number of the event that is open beside the list; 0 for none. */
  sel: number
  /** The epoch that `since`, `mark` and `sel` count in: after a restart of the service, they mean other events. */
  epoch: string
  /** Lines of one row. */
  lines: 1 | 3
}

export const home: Place = {
  screen: 'events',
  id: '',
  time: '',
  q: '',
  off: [],
  sort: 'time',
  since: 0,
  from: null,
  to: null,
  group: true,
  columns: [],
  mark: 0,
  sel: 0,
  epoch: '',
  lines: 1,
}

/** The list with nothing left out but by its query. */
export const allEvents = {
  screen: 'events',
  id: '',
  since: 0,
  from: null,
  to: null,
  sel: 0,
} as const satisfies Partial<Place>

const maxColumns = 12
const maxColumnChars = 512
/** Maximum number of clauses that are switched off. */
const maxOff = 50

export function placeOf(url: URL): Place {
  const [, , first = '', ...rest] = url.pathname.split('/')
  const query = url.searchParams
  return {
    screen: Object.hasOwn(screens, first) ? (first as Screen) : 'events',
    id: decoded(rest.join('/')),
    time: first === 'event' ? (query.get('t') ?? '') : '',
    q: (query.get('q') ?? '').slice(0, maxQueryChars),
    off: query.getAll('off').slice(0, maxOff),
    sort: query.get('sort') === 'arrival' ? 'arrival' : ('time' satisfies Sort),
    since: wholeNumber(query.get('since')) ?? 0,
    from: timeIn(query.get('from')),
    to: timeIn(query.get('to')),
    group: query.get('group') !== '0',
    columns: splitAtCommas(query.get('cols') ?? '')
      .filter(path => path.length <= maxColumnChars)
      .slice(0, maxColumns),
    mark: wholeNumber(query.get('mark')) ?? 0,
    sel: wholeNumber(query.get('sel')) ?? 0,
    epoch: query.get('of') ?? '',
    lines: query.get('rows') === '3' ? 3 : 1,
  }
}

export function addressOf(place: Place): string {
  const query: string[] = []
  const add = (name: string, value: string | number | null) => {
    if (value !== null && value !== '' && value !== 0) query.push(`${name}=${readable(String(value))}`)
  }
  if (place.screen === 'event') add('t', place.time)
  add('q', place.q)
  for (const clause of place.off) add('off', clause)
  add('sort', place.sort === 'arrival' ? 'arrival' : null)
  add('since', place.since)
  add('from', place.from === null ? null : String(place.from))
  add('to', place.to === null ? null : String(place.to))
  if (!place.group) query.push('group=0')
  add('cols', joinedWithCommas(place.columns))
  add('mark', place.mark)
  add('sel', place.sel)
  if (place.since !== 0 || place.mark !== 0 || place.sel !== 0) add('of', place.epoch)
  add('rows', place.lines === 3 ? 3 : null)
  const path = `/dev/${place.screen}${place.id === '' ? '' : `/${encoded(place.id)}`}`
  return query.length === 0 ? path : `${path}?${query.join('&')}`
}

/** The part of a place that the service knows. */
export function viewQueryOf(place: Place): ViewQuery {
  const { q, sort, since, from, to, group, columns, mark } = place
  return { q, sort, since, from, to, group, columns, mark }
}

/** Encodes a value, except for characters that an address may have as they are: people read and edit addresses. */
function readable(value: string): string {
  return encoded(value).replace(/%(?:3A|2C|2F|40|20)/g, code => (code === '%20' ? '+' : decodeURIComponent(code)))
}

/** Encodes a value. Half a character, which an event may have, cannot be in an address. */
function encoded(value: string): string {
  return encodeURIComponent(value.toWellFormed())
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

function wholeNumber(text: string | null): number | null {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null
}

/** A time before 1970 is a negative number. */
function timeIn(text: string | null): number | null {
  return text !== null && /^-?\d{1,15}$/.test(text) ? Number(text) : null
}
