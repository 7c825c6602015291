import { afterAll, describe, expect, it } from 'vitest'
import { startEmulator } from '../../src/emulator.ts'

const emulator = await startEmulator()
afterAll(() => emulator.close())

// biome-ignore lint/suspicious/noExplicitAny: misuse is what plain JavaScript can do.
type Misuse = any

describe('an invalid option is refused with its name, the expectation and the value', () => {
  it.each([
    [null, 'startEmulator: options must be an object, not null'],
    [Promise.resolve({}), 'startEmulator: options must be an object, not Promise { {} }'],
    [
      { prot: 1 },
      expect.stringMatching(/^startEmulator: options: there is no 'prot'; use one of host, .*mean port\?$/),
    ],
    [{ host: '' }, "startEmulator: host must be a non-empty string, not ''"],
    [{ port: 70_000 }, 'startEmulator: port must be an integer from 0 to 65535, not 70000'],
    [{ port: '80' }, "startEmulator: port must be an integer from 0 to 65535, not '80'"],
    [{ basePath: 'edge' }, "startEmulator: basePath must be a path such as '/edge', not 'edge'"],
    [{ basePath: '/a?b' }, "startEmulator: basePath must be a path such as '/edge', not '/a?b'"],
    [{ orgIdHeader: 'a b' }, "startEmulator: orgIdHeader must be the name of a header, not 'a b'"],
    [{ maxRequestBytes: 0 }, 'startEmulator: maxRequestBytes must be an integer from 1 to 9007199254740991, not 0'],
    [{ maxDecodedBytes: 1.5 }, 'startEmulator: maxDecodedBytes must be an integer from 1 to 9007199254740991, not 1.5'],
    [
      { maxStoredBytes: Number.NaN },
      'startEmulator: maxStoredBytes must be an integer from 1 to 9007199254740991, not NaN',
    ],
    [{ org: [] }, 'startEmulator: org must be an object, not []'],
    [{ org: { id: '' } }, "startEmulator: org.id must be a non-empty string, not ''"],
    [{ orgs: {} }, 'startEmulator: orgs must be a list, not {}'],
    [{ orgs: [{}] }, 'startEmulator: orgs[0].id must be a non-empty string, not undefined'],
    [{ orgs: [{ id: 'a' }, { id: 'a' }] }, "startEmulator: org and orgs must have different ids, not 'a' twice"],
    [{ enforce: 'all' }, "startEmulator: enforce must be true, false or an object, not 'all'"],
    [{ enforce: ['maxFields'] }, "startEmulator: enforce must be true, false or an object, not [ 'maxFields' ]"],
    [
      { enforce: new Set(['maxFields']) },
      "startEmulator: enforce must be true, false or an object, not Set(1) { 'maxFields' }",
    ],
    [
      { enforce: { maxUsers: true } },
      expect.stringMatching(/^startEmulator: enforce: there is no 'maxUsers'; use one of apiRate/),
    ],
    [{ enforce: { maxFields: 256 } }, 'startEmulator: enforce.maxFields must be true or false, not 256'],
    [{ tokens: 'secret' }, 'startEmulator: tokens must be a list'],
    [{ tokens: ['secret'] }, 'startEmulator: tokens[0] must be an object'],
    [
      { tokens: [{ kind: 'root' }] },
      "startEmulator: tokens[0].kind must be 'api' or 'personal' or 'access', not 'root'",
    ],
    [
      { tokens: [{ kind: 'api', actions: ['ingest'], dataset: ['only-this'] }] },
      "startEmulator: tokens[0]: there is no 'dataset'; use one of kind, token, orgs, actions, datasets. Did you mean datasets?",
    ],
    [
      { tokens: [{ kind: 'access' }, { kind: 'personal', actions: ['ingest'] }] },
      "startEmulator: tokens[1]: there is no 'actions'; use one of kind, token, orgs",
    ],
    [
      { tokens: [{ kind: 'personal', orgs: 'a' }] },
      "startEmulator: tokens[0].orgs must be a list of names or '*', not 'a'",
    ],
    [
      {
        tokens: [
          { kind: 'access', token: 'secret' },
          { kind: 'personal', token: 'secret' },
        ],
      },
      'startEmulator: tokens[1].token must be in no other grant',
    ],
    [
      { org: { paymentStatus: 'nope' } },
      "startEmulator: org.paymentStatus must be 'na' or 'failed' or 'success' or 'blocked', not 'nope'",
    ],
    [{ org: { plan: 'gold' } }, "startEmulator: org.plan must be a plan of the specification, not 'gold'"],
    [{ org: { name: null } }, 'startEmulator: org.name must be a string, not null'],
    [{ orgs: [{ id: 7 }] }, 'startEmulator: orgs[0].id must be a string, not 7'],
    [{ org: { license: [] } }, 'startEmulator: org.license must be an object, not []'],
    [
      { orgs: [{ id: 'a', license: { maxFields: 'many' } }] },
      "startEmulator: orgs[0].license.maxFields must be an integer from 0 to 9007199254740991, not 'many'",
    ],
    [
      { org: { license: { expiresAt: 'soon' } } },
      "startEmulator: org.license.expiresAt must be a time in ISO 8601, not 'soon'",
    ],
    [{ org: { license: { regions: 'eu' } } }, "startEmulator: org.license.regions must be a list, not 'eu'"],
    [{ org: { license: { features: 'all' } } }, "startEmulator: org.license.features must be an object, not 'all'"],
    [{ tls: 'secret' }, 'startEmulator: tls must be an object with key and cert'],
    [{ tls: { key: 'secret', cert: 'secret' } }, 'startEmulator: tls must have a key and its certificate in PEM'],
  ])('%j', async (options: Misuse, message) => {
    await expect(startEmulator(options)).rejects.toMatchObject({ message })
  })

  it.each<[option: string, rightType: string, wrong: readonly Misuse[]]>([
    ['host', 'string', ['', 5, true]],
    ['port', 'number', [-1, Number.NaN, '80', true]],
    ['basePath', 'string', ['edge', 5, {}]],
    ['orgIdHeader', 'string', ['', 'a b', 5]],
    ['maxRequestBytes', 'number', [0, 1.5, '1']],
    ['maxDecodedBytes', 'number', [0, '1']],
    ['maxRequestEvents', 'number', [0, '1']],
    ['maxNestingDepth', 'number', [0, '1']],
    ['maxEventBytes', 'number', [0, '1']],
    ['maxStoredBytes', 'number', [0, '1']],
    ['allowedHosts', 'object', [['a b'], 'a']],
    ['enforce', 'object', ['all', 5]],
  ])('%s: a wrong type is a TypeError, and any other wrong value a RangeError', async (option, rightType, wrong) => {
    for (const value of wrong) {
      const name = typeof value === rightType ? 'RangeError' : 'TypeError'
      const message = expect.stringMatching(new RegExp(`^startEmulator: ${option}\\b.* must be `))
      await expect(startEmulator({ [option]: value })).rejects.toMatchObject({ name, message })
    }
  })

  it('refuses a misspelled field of an organization or its license', async () => {
    const misspelled: Misuse = { license: { maxField: 10 } }
    await expect(startEmulator({ org: misspelled })).rejects.toThrow(
      /^startEmulator: org\.license: there is no 'maxField'; use one of id, /,
    )
    await expect(startEmulator({ orgs: [{ id: 'a', ...misspelled }] })).rejects.toThrow(
      /^startEmulator: orgs\[0\]\.license: there is no/,
    )
    expect(() => emulator.changeOrg({ licence: {} } as Misuse)).toThrow(/^changeOrg: overrides: there is no 'licence'/)
    expect(() => emulator.changeOrg(misspelled)).toThrow(/^changeOrg: overrides\.license: there is no 'maxField'/)
  })

  it('treats undefined as the default', async () => {
    await using own = await startEmulator({
      host: undefined,
      port: undefined,
      org: undefined,
      maxStoredBytes: undefined,
    })
    expect(own.url).toBe(`http://127.0.0.1:${own.port}`)
  })

  it('says that the port is in use', async () => {
    await expect(startEmulator({ port: emulator.port })).rejects.toThrow(
      `the emulator cannot listen on port ${emulator.port} of 127.0.0.1: the port is in use`,
    )
  })
})

describe('an invalid token is refused without being shown', () => {
  it.each([
    ['secret', 'addToken: grant must be an object'],
    [{ kind: 'api' }, 'addToken: grant.actions must be a list of ingest, org:read, org:write, not undefined'],
    [{ kind: 'api', actions: ['all'] }, "grant.actions must be 'ingest' or 'org:read' or 'org:write', not 'all'"],
    [{ kind: 'api', actions: [], datasets: 'a' }, "grant.datasets must be a list of names or '*', not 'a'"],
    [{ kind: 'personal', orgs: [''] }, "grant.orgs[0] must be a non-empty string, not ''"],
    [
      { kind: 'personal', org: ['secret'] },
      "addToken: grant: there is no 'org'; use one of kind, token, orgs. Did you mean orgs?",
    ],
    [{ kind: 'personal', token: 'secret\r\n' }, 'grant.token must be a non-empty string of visible ASCII characters'],
  ])('%j', (grant: Misuse, message) => {
    expect(() => emulator.addToken(grant)).toThrow(message)
    expect(() => emulator.addToken(grant)).not.toThrow('secret')
  })
})

describe('an invalid fault is refused when it is scripted', () => {
  const { faults } = emulator as Misuse

  it.each([
    [() => faults.answerNext(0, { status: 500 }), 'answerNext: count must be an integer from 1, or Infinity, not 0'],
    [() => faults.answerNext(1, { status: 99 }), 'answerNext: status must be an integer from 200 to 599, not 99'],
    [
      () => faults.answerNext(1, { status: 500, headers: { a: 'b\r\nc' } }),
      'answerNext: headers must be names and values that HTTP allows in a header, not ',
    ],
    [
      () => faults.answerNext(1, { status: 500, headers: { a: undefined } }),
      'answerNext: headers must be names and values',
    ],
    [() => faults.answerNext(1, { status: 500, body: 5 }), 'answerNext: body must be a string, bytes, or an object'],
    [
      () => faults.answerNext(1, { status: 500, body: { n: 5n } }),
      'answerNext: body must be a string, bytes, or an object',
    ],
    [() => faults.maxBytes(5, { reset: 'no' }), "maxBytes: reset must be true or false, not 'no'"],
    [() => faults.rejectEvents(() => true), 'rejectEvents: reason must be a non-empty string, not undefined'],
    [() => faults.answerNext(1), 'answerNext: answer must be an object, not undefined'],
    [
      () => faults.answerNext(1, { status: 500, header: {} }),
      "answerNext: answer: there is no 'header'; use one of status",
    ],
    [() => faults.answerNext(1, { status: 500, headers: 'a: b' }), "answerNext: headers must be an object, not 'a: b'"],
    [
      () => faults.answerNext(1, { status: 429, headers: new Headers() }),
      'answerNext: headers must be an object, not Headers',
    ],
    [() => faults.resetNext(1, 'later'), "resetNext: moment must be 'before-storing' or 'after-storing', not 'later'"],
    [() => faults.refuseEncodings('gzip'), "refuseEncodings: encodings must be a list, not 'gzip'"],
    [() => faults.refuseEncodings([1]), 'refuseEncodings: encodings[0] must be a non-empty string, not 1'],
    [() => faults.slowBody(), 'slowBody: options must be an object, not undefined'],
    [() => faults.slowBody({ bytesPerSecond: 0 }), 'slowBody: bytesPerSecond must be a number'],
    [
      () => faults.slowBody({ bytesPerSecond: 1, count: 2 }),
      "slowBody: options: there is no 'count'; use one of bytesPerSecond, answers",
    ],
    [() => faults.maxBytes(1, { rest: true }), "maxBytes: options: there is no 'rest'; use one of reset. Did you mean"],
    [() => faults.rejectEvents('all', 'x'), "rejectEvents: predicate must be a function, not 'all'"],
    [() => faults.rejectRequests(null), 'rejectRequests: predicate must be a function, not null'],
    [() => faults.rejectRequests(() => true, 422), 'rejectRequests: answer must be an object, not 422'],
    [() => faults.maxBytes(1, true), 'maxBytes: options must be an object, not true'],
    [() => faults.maxBytes(-1), 'maxBytes: bytes must be a number from 0 to Infinity, not -1'],
    [() => (faults.latencyMs = -1), 'latencyMs must be a number from 0'],
  ])('%s', (script, message) => {
    expect(script).toThrow(message)
  })
})
