import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { similarTexts, statementText } from '../../src/usage/statement-text.ts'
import { anyCharacter } from '../support/any-character.ts'
import { cpuMs } from '../support/cpu-ms.ts'
import { randomFrom } from '../support/random.ts'

describe('the text of a statement is its message without', () => {
  it.each([
    ['quoted parts that were cut off', 'received {"email":"a@b.cd","note":"call me at', 'received {*'],
    ['the rest of a line with an unclosed quote', 'said "hello" and "bye for now', 'said * and *'],
    ['encoded e-mail addresses', 'GET /users/bob.smith%40example.com/orders failed', 'GET * failed'],
    ['numbers', 'order 1234 placed in 35.5 ms', 'order * placed in *'],
    ['signs of numbers', 'moved by -5, then +3 and 1e-7', 'moved by *, then * and *'],
    ['numbers at a word', 'worker7 took 12ms, worker12 took 7s', 'worker* took *, worker* took *'],
    ['units of times', 'took 12ms, 1.2s, 3 ms or 0.5 s', 'took * or *'],
    ['microseconds', 'took 12µs, 3 µs or 4 μs', 'took * or *'],
    ['times in UTC', 'from 2026-11-22T10:30:01.123Z to 2026-11-22T10:30:02Z', 'from * to *'],
    ['units of sizes', 'read 512 B of 1.5 KB and 3MiB to 4kB', 'read * of * and * to *'],
    ['amounts of money', 'paid $5.00 or €7', 'paid * or *'],
    ['signs of numbers in lists', 'at (-3, 4) and (5, -6)', 'at (*) and (*)'],
    ['hyphens for missing values', 'GET 304 - 1.5 ms and GET 204 -', 'GET * and GET *'],
    ['IPv6 addresses before a colon', 'from 2001:db8::a1: refused by ::1: closed', 'from *: refused by *: closed'],
    ['names of pods without a digit', 'checkout-bcdfghjklm-xkqzb on fluentd-xkqzb', 'checkout-* on fluentd-*'],
    [
      'tokens that are cut off',
      'got eyJhbGciOiJIUzI1NiJ9.abcDEfgh... and eyJhbGciOiJIUzI1NiJ9.ab_... of it',
      'got *... and *... of it',
    ],
    ['article numbers', 'sold SKU-GJA-790 and EU-CD-1234', 'sold SKU-* and EU-*'],
    ['digests behind their first bytes', `/data/ab/cd/abcd${'0f'.repeat(18)}/meta`, '/data/*/meta'],
    ['short identifiers', 'video dQw4w9WgXcQ of UCuAXFkgsw1L', 'video * of *'],
    ['lists of numbers', 'ids 1, 2, 3 and 4', 'ids * and *'],
    ['times', 'at 10:30:01.123 on 2026-11-22', 'at * on *'],
    ['addresses of machines', 'from 10.0.0.1:8080 closed', 'from * closed'],
    ['UUIDs', 'user 8f3a2b1c-1234-4abc-9def-0123456789ab left', 'user * left'],
    ['hexadecimal numbers', 'commit 8f3a2b1 at 0x7fff', 'commit * at *'],
    ['long alphanumerics', 'key V1StGXR8_Z5jdHi6B-myT is old', 'key * is old'],
    ['names of pods', 'pod checkout-7d9f8b6c5-xkqzb is ready', 'pod checkout-* is ready'],
    ['ids with a prefix', 'pi_3NvmWoe2KLmTFyoGSjWkBSN1 of cus_Nffr0GoN6KTwvS paid', 'pi_* of cus_* paid'],
    ['ids with a prefix and no digit', 'pi_NvmWoeucKLmTFyoGSjWkBSNj and cus_uVnWeLHrFqfnVj', 'pi_* and cus_*'],
    ['URL-safe ids with a sign at an end', 'ids _V1StGXR8Z5jdHi6BmyT and V1StGXR8__Z5jdHi6BmyT-', 'ids * and *'],
    ['tokens with signs at the ends of their parts', 'eyJhbGciOiJIUzI1NiJ9._Qb-7GhXz1KpW0rT_.-Zk4LmQ9aYt2RsB8vN-', '*'],
    [
      'base64',
      'got SGVsbG8gV29ybGQhIFRoaXM= and U0E7Rvc6ui+by0Mpri3Glg==, then /3bKx+9QzT/0aLmW8rYcVg==',
      'got * and *, then *',
    ],
    ['base64 without padding', 'got aB/3bKx+9QzT/0aLmW8rYcVg4+ in all', 'got * in all'],
    ['secrets in base64 that begin with a sign', 'Authorization: Basic /3bKx9QzTaLm now', 'Authorization: Basic * now'],
    ['MAC addresses', 'from ca:1f:b3:00:de:ad and DE-AD-BE-EF-00-01', 'from * and *'],
    [
      'IPv6 addresses',
      'fe80::a:b or ::1 or a1:b:c:d:e:f:dbcc:abcd at [2001:db8::fbb]:80 of fe80::1',
      '* or * or * at [*]:* of *',
    ],
    ['fingerprints', `key ${'ab:'.repeat(31)}cd is new`, 'key * is new'],
    [
      'bytes of a Buffer',
      'got <Buffer fe da> and <Buffer 1f da be 00 ... 9 more bytes>',
      'got <Buffer *> and <Buffer * ... * more bytes>',
    ],
    ['hexadecimal dumps', 'got da 1f be 3e 00 back', 'got * back'],
    ['digits of any script', 'order ٨٢٠١ and ８２ and १२३ placed', 'order * and * and * placed'],
    ['numbers between words that no space separates', '订单123已创建，耗时35毫秒', '订单*已创建，耗时*毫秒'],
    ['full-width numbers between words', '第１２章が始まりました', '第*章が始まりました'],
    ['long texts without a space', `got ${'abcdefgh'.repeat(5)}`, 'got *'],
    ['quoted parts', `file "a b" and 'c' and \`d\` and “e”`, 'file * and * and * and *'],
    ['quoted parts, in quotes of other languages', '„a b” i „c“ und 「東京 都」と『京都』', '* i * und *と*'],
    ['quoted parts with escaped quotes', String.raw`got "say \"hi\"" and 'it\'s me' now`, 'got * and * now'],
    ['escaped quotes around a part', String.raw`got \"a\" now`, String.raw`got \* now`],
    ['quoted paths that end with a backslash', String.raw`moved "C:\a b\" to "D:\c\"`, 'moved * to *'],
    ['JSON with escaped quotes', JSON.stringify({ m: 'say "hi"', path: 'C:\\' }), '{*}'],
    ['JSON', 'got {"user":"alice","age":5}', 'got {*}'],
    ['e-mail addresses', 'mail to <alice.smith+x@example.com>, sent', 'mail to <*>, sent'],
    ['credentials in addresses', 'GET https://user:pass@host/path failed', 'GET * failed'],
    ['queries of addresses', 'GET https://x.y/a?token=abc&b=c ok', 'GET https://x.y/a?* ok'],
    ['ids in paths', 'GET /orders/123/items/8f3a2b 200', 'GET /orders/*/items/*'],
    ['what is assigned', 'name=alice age = 5 kind="x"', 'name=* age = * kind=*'],
    ['what follows the name of a secret', 'password: hunter, api-key: abc', 'password: *, api-key: *'],
    ['what follows a scheme', 'Authorization: Bearer abc.def and Basic abc', 'Authorization: Bearer * and Basic *'],
    ['words for values', 'user undefined is null or true, not NaN', 'user * is * or *, not *'],
    [
      'dates with names of days and months',
      `from Thu Jul 10 2025 08:12 to Fri, 1 May 2026 or [26/Nov/2026]`,
      'from * to * or [*]',
    ],
    ['times with AM and PM', 'March 3, 2026 at 5:00:00 PM', '* at *'],
    ['further lines', '  failed\n  at foo (file.js)', 'failed'],
    ['control characters', 'a\u0000b\u001bc', 'a b c'],
  ])('%s', (_, message, text) => {
    expect(statementText(message)).toBe(text)
  })

  it.each([
    'token expired, session started',
    "it's not a user's fault, don't retry",
    'if a == b => c',
    'a disk of five" in size',
    'Größe geändert 😀',
    'Пользователь вошёл в систему',
    '系统正在处理您的请求，请稍候片刻，如果长时间没有响应，请联系管理员或者稍后再试一次，谢谢您的耐心等待',
    'データベースへの接続に失敗しました。しばらくしてからもう一度お試しください。よろしくお願いいたします',
    'user_created by order-service: ECONNREFUSED',
    'payment_intent_created, __proto__, _id, a_, Foo--Bar',
    'getUserById, api_getUserByIdOrByKey, order-service_handleRequest, XMLHttpRequest',
    'cafe: bad, add_face, cafe:bad:dead:beef, am:pm, std::add',
    'be ad da de ab',
    'session: closed, token: expired, key: missing',
    'open mysql-https and x-http, btrfs',
    'ms and KB of s',
    'eyJobs.runAll in app.UserService',
    'GET /de/be/cafe and X-RATE-LIMIT',
    'src/components/App/UserService.ts, Express/Fastify, AES/CBC, I/O, C++, a+b',
    'bad \\" luck',
    'may march on, sat in the sun, May I?, I am Mon',
    'int[] foo() {{name}} () => x',
  ])('nothing, if it has no value: %s', message => {
    expect(statementText(message)).toBe(message)
  })
})

it.each([
  ['key:5 and add:5', 'key:* and add:*'],
  ['página 12 de 24 de 30', 'página * de * de *'],
  ['app_getUserById2 failed', 'app_getUserById* failed'],
  ['pod MyApp-7d9f8b6c5-xkqzb', 'pod MyApp-*'],
  ['GET /users/V1StGXR8Z5jdHi6BmyT/items', 'GET /users/*/items'],
  ['GET users/V1StGXR8Z5jdHi6BmyT/items', 'GET users/*/items'],
  ['retries_of_user=abc, isNew==true', 'retries_of_user=*, isNew==*'],
  ['lastRetryCount2= five', 'lastRetryCount*= *'],
])('words beside a value stay: %s', (message, text) => {
  expect(statementText(message)).toBe(text)
})

it.each([
  ['arrays of objects', 'cart [*] saved', ['cart [{"sku":"a"}] saved', 'cart [{"sku":"a","n":1},{"sku":"b"}] saved']],
  ['empty arrays', 'ids [*] of [*]', ['ids [] of []', 'ids [1] of ["a","b"]', 'ids [[1,2],[3]] of [{}]']],
  ['nested objects', 'got {*}', ['got {}', 'got {"a":1}', 'got {"a": {"b": [], "c": null}, "d": [1, {"e": "f"}]}']],
  ['rows', 'VALUES (*)', ["VALUES (1, 'a')", "VALUES (1, 'a'), (2, 'b'), (3, 'c')"]],
  [
    'texts that are not read to their end',
    'prompt: *',
    ['prompt: "short"', `prompt: "${'many words '.repeat(900)}"`, `prompt: "${'other text '.repeat(900)}\n"`],
  ],
  [
    'JSON that is not read to its end',
    'got [*]',
    ['got [{"a":1}]', ...[700, 750, 800].map(length => `got ${JSON.stringify(Array(length).fill({ name: 'a b' }))}`)],
  ],
])('messages have one text, whatever the size of their values: %s', (_, text, messages) => {
  expect(new Set(messages.map(statementText))).toEqual(new Set([text]))
})

it('a decimal digit of any script is a value', () => {
  const units = Array.from({ length: 0x10000 }, (_, unit) => String.fromCharCode(unit))
  const digits = units.filter(unit => /\p{Nd}/u.test(unit))
  expect(digits.length).toBeGreaterThan(300)
  expect(new Set(digits.map(digit => statementText(`order ${digit}${digit} placed`)))).toEqual(
    new Set(['order * placed']),
  )
})

describe('random identifiers do not make statements of their own', () => {
  const base62 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
  const base64url = `${base62}-_`
  const ofChars = (chars: string, length: number, random: () => number) =>
    Array.from({ length }, () => chars.charAt(Math.floor(random() * chars.length))).join('')
  const base64 = (random: () => number) =>
    Buffer.from(Array.from({ length: 24 + Math.floor(random() * 20) }, () => random() * 256)).toString('base64')
  const contexts = ['order # placed', 'id:# done', 'user (#) in', 'saved #']

  it.each<[string, (random: () => number) => string, string[], number]>([
    ['nanoids', random => ofChars(base64url, 21, random), [...contexts, '/v1/#/items'], 0.3],
    ['ids with a prefix', random => `cus_${ofChars(base62, 14, random)}`, [...contexts, '/v1/#/items'], 0.3],
    ['base64', base64, contexts, 0.3],
    ['base64 in a path', base64, ['/v1/#/items'], 3],
    ['keys of 256 bits', random => ofChars(base64url, 43, random), [...contexts, '/v1/#/items'], 0.3],
    [
      'JSON web tokens',
      random => `eyJhbGciOiJIUzI1NiJ9.${ofChars(base64url, 80, random)}.${ofChars(base64url, 43, random)}`,
      [...contexts, '/v1/#/items'],
      0.3,
    ],
  ])('%s', (_, id, messages, maxPercent) => {
    const random = randomFrom(1)
    for (const message of messages) {
      const texts = Array.from({ length: 8000 }, () => statementText(message.replace('#', id(random))))
      const counts = new Map<string, number>()
      for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1)
      const missed = 100 * (1 - Math.max(...counts.values()) / texts.length)
      expect(missed, message).toBeLessThan(maxPercent)
    }
  })
})

it.each([
  'AbstractSingletonProxyFactoryBean created by SimpleBeanFactoryAwareAspectInstanceFactory',
  'XMLHttpRequest, getElementById, HTMLCanvasElement, JSONWebKeySet, WebGLRenderingContext, NSURLSessionDataTask',
  'KUBE_FEATURE_TestAlpha, ORG_GRADLE_PROJECT_signingKey, DEFAULT_OPTIONS, TLS_ECDHE_RSA_WITH_AES_CBC_SHA',
  'List<Map<String, OrderLineItemDto>> in com.acme.shop.OrderEventsListener',
  'GET /api/userAccounts/byEmailAddress, /MyService/GetUserByEmail/items, Europe/Berlin, AES/GCM/NoPadding',
  'checkout-serviceAccountController, require_SemanticResourceAttributes, X-Forwarded-For, Ctrl+Shift+Escape',
  'Rechtsschutzversicherung, DonaudampfschifffahrtsGesellschaft, epäjärjestelmällisyys',
])('names of code stay, however long: %s', message => {
  expect(statementText(message)).toBe(message)
})

it.each([
  ['a prefix stays', 'sub_1MowVDLkdIwHu7ixraBm864M ended', 'sub_* ended'],
  ['a word before a nanoid stays', 'user_V1StGXR8Z5jdHi6BmyTaQ left', 'user_* left'],
  [
    'names in a path after base64url with a sign first stay',
    'GET /users/-V1StGXR8_Z5jdHi6BmyTa/cart/user',
    'GET /users/*/cart/user',
  ],
  ['a part of one letter in a path stays', 'GET /u/V1StGXR8_Z5jdHi6BmyTa/posts', 'GET /u/*/posts'],
  ['signs before a value go', 'order -_V1StGXR8Z5jdHi6BmyT for +/TClZgMrQxt66DC7bruOxg8jbksawK=', 'order * for *'],
  ['names in a path after base64 stay', 'GET /v1/aB3/xY+z9Kq/T7cVg4aB/3bKx/items/byEmail', 'GET /v*/items/byEmail'],
  ['the sign of a number is not that of base64', 'moved from 5 -10 +0000', 'moved from *'],
])('beside random identifiers, %s', (_, message, text) => {
  expect(statementText(message)).toBe(text)
})

describe('a word that may be a name or an identifier', () => {
  it('may make the message one of a known statement', () => {
    const message = '[MailService] [req-bSarmEYsTt] start'
    expect([...similarTexts(message)]).toContain('[MailService] [req-*] start')
  })

  it.each([
    ['a sign first', 'GET /r/-HdIJnJM/orders', 'GET /r/*/orders'],
    ['a sign last', 'GET /r/HdIJnJM_/orders', 'GET /r/*/orders'],
    ['two signs', 'GET /r/Ahd--Mn/orders', 'GET /r/*/orders'],
    ['what looks like a prefix', 'GET /r/du_yrF6-TUU/orders', 'GET /r/*/orders'],
    ['a sign after a prefix', 'req--HdIJnJM started', 'req-* started'],
  ])('may have %s', (_, message, text) => {
    expect([...similarTexts(message)]).toContain(text)
  })

  it.each(['order placed by customer-service', 'Order 5 placed'])('is none of: %s', message => {
    expect([...similarTexts(message)]).toEqual([])
  })
})

describe('whatever a message holds', () => {
  const message = fc.oneof(
    fc.string({ unit: anyCharacter, maxLength: 400 }),
    fc.string({ maxLength: 2000 }),
    fc
      .array(
        fc.constantFrom('"', "'", '=', '@', '?', ' ', '-', '_', '.', 'a', 'Ab', '7', 'token:', '\n', '😀', '\ud800'),
        {
          maxLength: 600,
        },
      )
      .map(parts => parts.join('')),
  )

  it('its text is one well-formed line of at most 200 characters without a digit', () => {
    fc.assert(
      fc.property(message, given => {
        const text = statementText(given)
        expect(text.length).toBeLessThanOrEqual(200)
        expect(text).not.toMatch(/[0-9]|\p{Cc}|^ | $/u)
        expect(text.isWellFormed()).toBe(true)
      }),
    )
  })

  it('the text does not depend on the numbers and identifiers', () => {
    const word = fc.constantFrom('order', 'placed', 'in', 'for', 'customer:', '[api]', 'ms,', 'done', '(retry)')
    const value = fc.oneof(
      fc.integer().map(String),
      fc.double({ noDefaultInfinity: true, noNaN: true, min: -1e6, max: 1e6 }).map(n => n.toFixed(3)),
      fc.uuid(),
      fc.stringMatching(/^[a-z]{1,8}[.+]?[a-z]{1,8}@[a-z]{1,8}\.com$/),
      fc.integer({ min: 0 }).map(n => `0x${n.toString(16)}`),
      fc.string({ unit: fc.constantFrom(...'abc xyz'), maxLength: 20 }).map(text => `"${text}"`),
      fc.string({ unit: fc.constantFrom(...'ab "\\\n'), maxLength: 20 }).map(text => JSON.stringify(text)),
      fc.string({ unit: fc.constantFrom(...'abc 東京'), maxLength: 20 }).map(text => `「${text}」`),
      fc.string({ unit: fc.constantFrom(...'٠١٢٣٤٥٦٧٨٩'), minLength: 1, maxLength: 9 }),
      fc
        .uint8Array({ minLength: 6, maxLength: 6 })
        .map(mac => Buffer.from(mac).toString('hex').replace(/..\B/g, '$&:')),
      fc.uint16Array({ minLength: 8, maxLength: 8 }).map(ip => Array.from(ip, group => group.toString(16)).join(':')),
    )
    fc.assert(
      fc.property(fc.array(fc.tuple(word, value, value), { minLength: 1, maxLength: 8 }), parts => {
        const one = statementText(parts.map(([text, a]) => `${text} is ${a}`).join(' so '))
        const other = statementText(parts.map(([text, , b]) => `${text} is ${b}`).join(' so '))
        expect(one).toBe(other)
      }),
    )
  })

  it.each([
    ['quotes', '"\'`“'.repeat(250)],
    ['signs', '@?=-'.repeat(100_000)],
    ['joined words', 'a-'.repeat(500_000)],
    ['escaped quotes', '"\\'.repeat(500_000)],
    ['bytes', '1f da '.repeat(200_000)],
    ['numbers of two digits', '12 '.repeat(300_000)],
    ['groups', 'a:1:'.repeat(200_000)],
    ['parts of paths', 'Ab/'.repeat(300_000)],
    ['parts of base64', 'Ab/a+'.repeat(200_000)],
    ['names in paths', 'aBcdE/items/'.repeat(100_000)],
    ['padding', 'Abc1dEf2==='.repeat(100_000)],
    ['one word', '😀'.repeat(100_000)],
  ])('reading it takes no longer than its first characters: %s', (_, given) => {
    const readingMs = cpuMs(() => {
      for (let i = 0; i < 100; i++) statementText(given)
    })
    expect(readingMs).toBeLessThan(1000)
  })
})
