/**
 * Returns the value of a header; the first value if the header was sent more than once. A value that is no text, which
 * only a dispatcher of the application can give, counts as none.
 */
export function firstValue(header: string | string[] | undefined): string | undefined {
  const value: unknown = Array.isArray(header) ? header[0] : header
  return typeof value === 'string' ? value : undefined
}
