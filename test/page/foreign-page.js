globalThis.tryEverything = async target => {
  // Runs in a page of another site, and tries what it can try. Returns the name and the outcome of each attempt.
  const outcomes = []
  const tried = async (name, run) => {
    const late = new Promise(resolve => setTimeout(() => resolve('late'), 5000))
    outcomes.push(`${name} ${await Promise.race([run().catch(() => 'failed'), late])}`)
  }
  const api = `${target}/dev/api`
  const asked = async (url, init) => {
    const answer = await fetch(url, init)
    return answer.type === 'opaque' ? 'opaque' : `${answer.status} ${await answer.text()}`
  }
  const log = JSON.stringify({
    resourceLogs: [{ scopeLogs: [{ logRecords: [{ body: { stringValue: 'injected' } }] }] }],
  })
  const json = { 'content-type': 'application/json', 'x-logferry-dev': '1' }
  await tried('read', () => asked(`${api}/events`, {}))
  await tried('read-blindly', () => asked(`${api}/events`, { mode: 'no-cors' }))
  await tried('read-with-cookies', () => asked(`${api}/events`, { credentials: 'include' }))
  await tried('clear', () => asked(`${api}/clear`, { method: 'POST', headers: json, body: '{}' }))
  await tried('clear-blindly', () => asked(`${api}/clear`, { method: 'POST', mode: 'no-cors', body: '{}' }))
  await tried('token', () => asked(`${api}/setup`, { method: 'POST', headers: json, body: '{}' }))
  const fault = JSON.stringify({ start: { kind: 'status', status: 503, forS: 60 } })
  await tried('fault', () => asked(`${api}/faults`, { method: 'POST', headers: json, body: fault }))
  await tried('fault-blindly', () => asked(`${api}/faults`, { method: 'POST', mode: 'no-cors', body: fault }))
  await tried('ingest-json', () => asked(`${target}/v1/logs`, { method: 'POST', headers: json, body: log }))
  await tried('ingest-blindly', () => asked(`${target}/v1/logs`, { method: 'POST', mode: 'no-cors', body: log }))
  await tried('beacon', async () => {
    navigator.sendBeacon(`${target}/v1/logs`, new Blob([log], { type: 'text/plain' }))
    return 'opaque'
  })
  const opened = (source, names) =>
    new Promise((resolve, reject) => {
      for (const name of names) source.addEventListener(name, () => resolve(name))
      source.addEventListener('error', () => reject(new Error()))
    })
  await tried('stream', () => opened(new EventSource(`${api}/live`), ['open', 'hello']))
  await tried('socket', () => opened(new WebSocket(`${api.replace('http', 'ws')}/live`), ['open']))
  await tried('script', () => {
    const script = Object.assign(document.createElement('script'), { src: `${api}/events` })
    document.body.append(script)
    return opened(script, ['load'])
  })
  await tried('form', async () => {
    const frame = Object.assign(document.createElement('iframe'), { name: 'sink' })
    const form = Object.assign(document.createElement('form'), {
      method: 'post',
      action: `${target}/v1/logs`,
      enctype: 'text/plain',
      target: 'sink',
    })
    form.append(Object.assign(document.createElement('input'), { name: log.slice(0, -1), value: '}' }))
    document.body.append(frame, form)
    form.submit()
    return 'opaque'
  })
  return outcomes
}
