/** Returns the value of a header; the first value if the header was sent more than once. */
export function firstValue(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header
}
