/**
 * True if a host, as `URL` writes it, certainly is this machine: `localhost`, 127.0.0.0/8, `[::1]`. Names below
 * `localhost` are not included, because on many systems DNS resolves them.
 */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname)
}
