/**
 * Whether a host, as `URL` writes it, is this machine and no other: `localhost`, 127.0.0.0/8, `[::1]`. What a name below
 * `localhost` resolves to is for DNS to say on many a system, and so is no loopback for sure.
 */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname)
}
