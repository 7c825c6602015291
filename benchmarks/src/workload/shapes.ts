/**
 * Events unlike the ordinary one. Values come from pools that are filled once, so that making an event costs little and no
 * text is built from pieces within the measured time. The same in every process, so that runs can be compared.
 */
import { randomNumbers } from './random.ts'

/** The fields that an application logs beside level and message. */
export type Meta = Record<string, unknown>

/** Makes the fields of event `n`, its number among them. */
type Shape = (n: number) => Meta

/** Each is called once in a process: what a shape does not use is not made. */
const makers = {
  small: () => {
    const { whole } = values(1)
    return n => ({ 'n#': n, user: whole(100_000) })
  },
  wide: () => {
    const { fieldNames, anyOf, someValue } = values(2)
    return flatShape(
      fieldNames(40),
      Array.from({ length: 40 }, () => anyOf(someValue)),
    )
  },
  deep: () => {
    const { id, cents, whole, phrase } = values(3)
    return n => ({
      'n#': n,
      tenant: {
        id: id(),
        project: {
          name: phrase(),
          run: {
            attempt: whole(9),
            job: {
              isRetry: false,
              step: {
                index: whole(40),
                result: { total: cents(), items: [{ sku: id(), parts: [{ left: whole(9) }] }] },
              },
            },
          },
        },
      },
    })
  },
  languages: () => {
    const { sentence } = values(4)
    return n => ({
      'n#': n,
      title: sentence(),
      customer: { name: sentence(), city: sentence() },
      note: sentence(),
      comments: [sentence(), sentence()],
      status: 'open',
    })
  },
  floats: () => {
    const { degrees, micros, ratio } = values(5)
    return n => ({
      'n#': n,
      position: { lat: degrees(), lon: degrees(), altitude: micros() },
      heading: degrees(),
      load: [ratio(), ratio(), ratio()],
      temperature: micros(),
      sensor: 'gps-1',
    })
  },
  stacks: () => {
    const { phrase, stack, id } = values(6)
    return n => ({ 'n#': n, error: { name: 'TypeError', message: phrase(), stack: stack() }, request: id() })
  },
  quoted: () => {
    const { query, path, json } = values(7)
    return n => ({ 'n#': n, query: query(), file: path(), body: json(), service: 'db' })
  },
  kinds: () => {
    const { fieldNames, anyOf, someValue, whole, id, cents, below } = values(8)
    const kinds = Array.from({ length: 48 }, (): Shape => {
      const length = 4 + below(10)
      const flat = flatShape(
        fieldNames(length),
        Array.from({ length }, () => anyOf(someValue)),
      )
      if (below(2) === 0) return flat
      const [name, first, second] = fieldNames(3) as [string, string, string]
      return n => Object.assign(flat(n), { [name]: { [first]: id(), [second]: cents() } })
    })
    return n => (kinds[whole(kinds.length)] as Shape)(n)
  },
  optional: () => {
    const { id, phrase, cents, whole, chance } = values(9)
    return n => {
      const made: Meta = { 'n#': n, service: 'checkout', request: id() }
      if (chance()) made.user = { id: id() }
      if (chance()) made.reason = phrase()
      made.durationMs = cents()
      if (chance()) made.retries = whole(5)
      if (chance()) made.cart = { total: cents(), ...(chance() && { coupon: id() }) }
      if (chance()) made.region = 'eu-central-1'
      return made
    }
  },
  '10 KB': () => {
    const { prose, id, cents, whole, phrase } = values(10)
    return n => ({
      'n#': n,
      request: prose(),
      response: prose(),
      items: Array.from({ length: 20 }, () => ({ sku: id(), quantity: whole(9), price: cents(), title: phrase() })),
    })
  },
} satisfies Record<string, () => Shape>

export type ShapeName = keyof typeof makers

export const shapeNames = Object.keys(makers) as ShapeName[]

export function shapeOf(name: ShapeName): Shape {
  return makers[name]()
}

const words =
  'order payment customer request accepted declined timeout retry shipped warehouse cart total invoice session token cache miss hit upstream'.split(
    ' ',
  )
const sentences = [
  'Bestellung für Müller & Söhne bestätigt',
  'Größe nicht verfügbar, Rückgabe möglich',
  'Commande acceptée, livraison prévue à Besançon',
  'Paiement refusé par l’émetteur',
  'Zażółć gęślą jaźń',
  'Заказ принят к исполнению',
  'Не удалось связаться со складом',
  'Η παραγγελία ολοκληρώθηκε',
  'تم استلام الطلب',
  'फ़ोन से भुगतान विफल रहा',
  '注文を受け付けました。',
  '在庫が不足しています。倉庫に確認してください',
  '东京都涩谷区神南一丁目',
  '결제가 완료되었습니다',
  'Great service 👍👍',
  'Thanks 😊, see you 🚀',
]
const poolSize = 4096

/** Sources of values, with random numbers of their own. */
function values(seed: number) {
  const random = randomNumbers(seed)
  const below = (limit: number) => Math.floor(random() * limit)
  const anyOf = <Item>(items: readonly Item[]) => items[below(items.length)] as Item
  const word = () => anyOf(words)
  const hex = (digits: number) => Array.from({ length: digits }, () => below(16).toString(16)).join('')
  const numbers = (make: () => number) => pool(poolSize, make)
  /** In one piece, as texts are that were read from somewhere. */
  const texts = (make: () => string, size = poolSize) => pool(size, () => Buffer.from(make()).toString())
  const textOf = (length: number) => {
    let text = word()
    while (text.length < length) text += ` ${word()}`
    return text.slice(0, length)
  }
  const frame = () =>
    `    at ${word()}.${word()} (/srv/app/node_modules/${word()}/lib/${word()}.js:${below(2000)}:${below(80)})`

  const id = texts(() => hex(16))
  const cents = numbers(() => below(1_000_000) / 100)
  const phrase = texts(() => textOf(20 + below(40)))
  const whole = wholeNumbers(random)
  return {
    below,
    anyOf,
    whole,
    chance: () => whole(2) === 0,
    id,
    cents,
    phrase,
    // Never twice the same: V8 remembers the text of a number that it has met before.
    degrees: () => random() * 360 - 180,
    ratio: random,
    micros: () => below(2 ** 30) / 1e6,
    sentence: texts(() => anyOf(sentences) + (below(2) === 0 ? ` ${below(10_000)}` : '')),
    stack: texts(
      () => [`TypeError: ${word()} is not a function`, ...Array.from({ length: 10 }, frame)].join('\n'),
      256,
    ),
    query: texts(() => `select "id", "${word()}" from "orders" where "key" = '${hex(8)}'`),
    path: texts(() => `C:\\srv\\${word()}\\${word()}.log`),
    json: texts(() => JSON.stringify({ id: below(1000), text: word(), list: [1, 2, 3], inner: { key: hex(8) } })),
    prose: texts(() => textOf(4096), 64),
    someValue: [id, cents, phrase, texts(word), () => 'constant', () => true, () => null, () => whole(100_000)],
    fieldNames: (count: number) => Array.from({ length: count }, (_, i) => `${word()}_${hex(2)}${i}`),
  }
}

function pool<Item>(size: number, make: () => Item): () => Item {
  const items = Array.from({ length: size }, make)
  let next = 0
  return () => {
    next = (next + 1) % size
    return items[next] as Item
  }
}

function wholeNumbers(random: () => number): (limit: number) => number {
  const next = pool(poolSize, random)
  return limit => Math.floor(next() * limit)
}

/** Written as an application writes an object: as a literal, with its names in the source. */
function flatShape(names: readonly string[], sources: readonly (() => unknown)[]): Shape {
  const fields = names.map((name, i) => `${JSON.stringify(name)}: sources[${i}]()`)
  return new Function('sources', `return n => ({ 'n#': n, ${fields.join(', ')} })`)(sources)
}
