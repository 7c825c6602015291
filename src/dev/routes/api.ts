import type { IncomingMessage, ServerResponse } from 'node:http'
import { json } from '../../emulator/answer.ts'
import { timeOfValue } from '../event/event-time.ts'
import { FaultMistake } from '../faults/fault-mistake.ts'
import { type LicenseSettings, LimitMistake } from '../faults/license-settings.ts'
import type { RunningFaults } from '../faults/running-faults.ts'
import type { EventIndexApi, Selection } from '../index/index-api.ts'
import type { RequestTrail } from '../intake/request-trail.ts'
import type { LiveStreams } from '../live/live-streams.ts'
import {
  type EventDetail,
  type FaultsAnswer,
  type JoinAnswer,
  type JoinRequest,
  paths,
  type ServiceStatus,
  type SetupAnswer,
} from '../protocol.ts'
import { abortOnClose } from './abort-on-close.ts'
import { readJson, send, sendError, sendLines } from './answers.ts'
import { isLoopbackAddress } from './guard.ts'
import { BadRequest, type Parameters } from './parameters.ts'
import { editRequestOf, faultChangeOf, joinRequestOf, viewChangeOf, viewQueryOf } from './view-parameters.ts'

const maxArrival = Number.MAX_SAFE_INTEGER
const maxRows = 200
const maxEvents = 1000
const maxWaitMs = 30_000

export interface ApiDeps {
  readonly index: EventIndexApi
  readonly trail: RequestTrail
  readonly faults: RunningFaults
  readonly license: LicenseSettings
  readonly streams: LiveStreams
  readonly setup: () => SetupAnswer
  /** Returns the answer to a program that knows the token, or `undefined`. */
  readonly join: (request: JoinRequest, port: number) => JoinAnswer | undefined
  readonly status: () => ServiceStatus
  /** Ingests one event, as an application would. Returns the status and the body of the answer. */
  readonly testEvent: () => Promise<{ status: number; body: string }>
  /** Returns the JSON of an answer, without secrets. */
  readonly toJson: (answer: unknown) => string
  readonly redact: (text: string) => string
}

export interface Call {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly parameters: Parameters
}

interface Route {
  /** Returns an answer, or `undefined` if it has been sent. */
  readonly get?: (call: Call) => unknown
  readonly post?: (body: unknown, call: Call) => unknown
}

/** Nothing is there: the event or the list was forgotten, or never was. */
class NotThere extends Error {
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/** Answers the paths of `protocol.ts`. */
export class Api {
  readonly #deps: ApiDeps
  readonly #routes: ReadonlyMap<string, Route>

  constructor(deps: ApiDeps) {
    this.#deps = deps
    this.#routes = new Map(
      Object.entries(routesOf(deps)).map(([name, route]) => [paths[name as keyof typeof paths], route]),
    )
  }

  has(path: string): boolean {
    return this.#routes.has(path)
  }

  /** True if the request changes something, or reads the token. */
  isWrite(path: string, method: string): boolean {
    const route = this.#routes.get(path)
    return method === 'POST' || (route?.get === undefined && route?.post !== undefined)
  }

  /** True if a path needs no key, since its answer needs a proof of the token. */
  isKeyless(path: string): boolean {
    return path === paths.join
  }

  async serve(path: string, call: Call): Promise<void> {
    const { request, response } = call
    const route = this.#routes.get(path)
    const isPost = request.method === 'POST'
    try {
      const answer = isPost ? await route?.post?.(await readJson(request), call) : await route?.get?.(call)
      if (answer === undefined || response.headersSent || response.destroyed) return
      send(response, { ...json(200, {}), body: this.#deps.toJson(answer) })
    } catch (error) {
      if (response.headersSent) {
        response.destroy()
      } else if (error instanceof BadRequest) sendError(response, 400, 'bad-request', error.message)
      else if (error instanceof LimitMistake) {
        const { message, field } = error
        send(response, json(400, { code: 'bad-limit', message, field }))
      } else if (error instanceof FaultMistake) sendError(response, 400, 'bad-fault', error.message)
      else if (error instanceof NotThere) sendError(response, 404, error.code, error.message)
      else sendError(response, 500, 'failed', 'the dev service failed to answer; please report this as a bug')
    }
  }

  methodsOf(path: string): string {
    const route = this.#routes.get(path)
    return [...(route?.get ? ['GET'] : []), ...(route?.post ? ['POST'] : [])].join(', ')
  }
}

function routesOf(deps: ApiDeps): Record<keyof typeof paths, Route> {
  const { index, trail, faults, license, streams } = deps
  const faultsAnswer = (): FaultsAnswer => ({
    running: faults.running(),
    ended: faults.ended(),
    limits: license.list(),
  })
  const viewOf = (id: string) => {
    const view = index.view(id)
    if (view === undefined) throw new NotThere('no-such-view', 'this list is closed; open a new one')
    return view
  }
  return {
    live: {
      async get({ request, response, parameters }) {
        const lastId = request.headers['last-event-id']
        const after = typeof lastId === 'string' ? lastId : parameters.text('after')
        const isOpen = await streams.open(response, viewQueryOf(parameters), after)
        if (!isOpen) sendError(response, 503, 'too-many-pages', 'too many pages are open; close one of them')
        return undefined
      },
    },
    view: {
      post: body => {
        const { view, ...change } = viewChangeOf(body)
        return viewOf(view).change(change)
      },
    },
    rows: {
      get: ({ parameters }) =>
        viewOf(parameters.requiredText('view')).rows({
          until: parameters.requiredInteger('until', 0, maxArrival),
          from: parameters.requiredInteger('from', 0, maxArrival),
          n: parameters.requiredInteger('n', 0, maxRows),
        }),
    },
    events: {
      get: ({ response, parameters }) =>
        index.events(
          {
            q: parameters.text('q'),
            dataset: parameters.text('dataset') || undefined,
            after: parameters.integer('after', 0, maxArrival),
            before: parameters.integer('before', 0, maxArrival),
            from: parameters.number('from'),
            to: parameters.number('to'),
            order: parameters.oneOf('order', ['asc', 'desc']),
            limit: parameters.integer('limit', 1, maxEvents),
            waitMs: parameters.integer('waitMs', 0, maxWaitMs),
          },
          abortOnClose(response),
        ),
    },
    event: {
      get: async ({ response, parameters }) => {
        const time = parameters.text('t')
        const found = index.event(parameters.requiredText('id'))
        const event = found ?? (time === undefined ? undefined : await eventAtTime(index, time))
        if (event === undefined) {
          throw new NotThere('no-such-event', 'this event is not kept any more, or belongs to an earlier run')
        }
        if (parameters.oneOf('part', ['raw']) === undefined) return event
        send(response, { ...json(200, {}), body: deps.redact(event.line) })
        return undefined
      },
    },
    trace: {
      get: ({ parameters }) =>
        index.trace({ id: parameters.requiredText('id'), limit: parameters.integer('limit', 1, maxEvents) }),
    },
    groups: {
      get: ({ parameters }) =>
        index.groups({
          ...selectionOf(parameters),
          limit: parameters.integer('limit', 1, maxEvents),
        }),
    },
    facet: {
      get: ({ parameters }) =>
        index.facet({
          ...selectionOf(parameters),
          field: parameters.requiredText('field'),
          limit: parameters.integer('limit', 1, maxEvents),
        }),
    },
    suggest: {
      get: ({ parameters }) =>
        index.suggest({ q: parameters.text('q') ?? '', at: parameters.requiredInteger('at', 0, maxArrival) }),
    },
    edit: { post: body => index.edit(editRequestOf(body)) },
    requests: {
      get: ({ parameters }) =>
        trail.list({
          before: parameters.integer('before', 0, maxArrival),
          limit: parameters.integer('limit', 1, maxEvents),
          status: parameters.text('status', 10),
          dataset: parameters.text('dataset') || undefined,
          retries: parameters.flag('retries'),
        }),
    },
    request: {
      get: ({ parameters }) => {
        const detail = trail.detail(parameters.requiredInteger('n', 1, maxArrival))
        if (detail === undefined) throw new NotThere('no-such-request', 'this request is not kept any more')
        return detail
      },
    },
    fields: {
      get: ({ parameters }) =>
        index.fields({
          dataset: parameters.text('dataset') || undefined,
          prefix: parameters.text('prefix'),
          limit: parameters.integer('limit', 1, maxEvents),
          maxFields: license.maxFields,
        }),
    },
    cost: {
      get: ({ parameters }) =>
        index.cost({
          ...selectionOf(parameters),
          limit: parameters.integer('limit', 1, maxEvents),
          monthlyLimit: license.monthlyBytes,
        }),
    },
    faults: {
      get: faultsAnswer,
      post: body => {
        const change = faultChangeOf(body)
        if ('start' in change) faults.start(change.start)
        else if ('stop' in change) faults.stop(change.stop)
        else license.change(change.limits)
        const answer = faultsAnswer()
        streams.tell('faults', answer)
        return answer
      },
    },
    export: {
      get: async ({ response, parameters }) => {
        const lines = index.exportLines({
          ...selectionOf(parameters),
          until: parameters.integer('until', 0, maxArrival),
          sort: parameters.oneOf('sort', ['time', 'arrival']),
        })
        const headers = { 'content-disposition': 'attachment; filename="logferry-events.ndjson"' }
        await sendLines(response, redacted(lines, deps.redact), headers)
        return undefined
      },
    },
    summary: { get: () => index.summary() },
    status: { get: () => deps.status() },
    setup: {
      post: (_, { request, response }) => {
        if (isLoopbackAddress(request.socket.remoteAddress)) {
          // The only answer that has the token in it.
          send(response, json(200, deps.setup()))
        } else sendError(response, 403, 'not-local', 'the token is shown on the machine of the dev service only')
        return undefined
      },
    },
    join: {
      post: (body, { request, response }) => {
        const answer = deps.join(joinRequestOf(body), request.socket.localPort ?? 0)
        if (answer === undefined) sendError(response, 403, 'other-token', 'this dev service has another token')
        return answer
      },
    },
    testEvent: {
      post: async (_, { response }) => {
        const { status, body } = await deps.testEvent()
        send(response, { ...json(status, {}), body: deps.redact(body) })
        return undefined
      },
    },
    clear: {
      post: () => {
        const until = index.clear()
        streams.tell('cleared', { until })
        return { until }
      },
    },
  }
}

/** Finds the event of a link that was made by an earlier run, if events were loaded from a file: by its `_time`. */
async function eventAtTime(index: EventIndexApi, time: string): Promise<EventDetail | undefined> {
  const at = timeOfValue(time) ?? timeOfValue(Number(time))
  if (at === undefined) return undefined
  const { events } = await index.events({ from: at - 1, to: at + 1, limit: maxRows })
  return events.map(({ id }) => index.event(id)).find(event => event?.time === time)
}

async function* redacted(lines: AsyncIterable<string>, redact: (text: string) => string): AsyncGenerator<string> {
  for await (const line of lines) yield redact(line)
}

function selectionOf(parameters: Parameters): Selection {
  return {
    q: parameters.text('q'),
    mark: parameters.integer('mark', 0, maxArrival),
    since: parameters.integer('since', 0, maxArrival),
    from: parameters.number('from'),
    to: parameters.number('to'),
  }
}
