import { constants } from 'node:os'

/**
 * Returns the code of an error of the system. Node names only the codes of its library libuv. It calls others, such as those of
 * a quota (`EDQUOT`) and of a lost network file system (`ESTALE`), `UNKNOWN`, or `Unknown system error -122`.
 */
export function systemCode({ code, errno = 0 }: NodeJS.ErrnoException): string | undefined {
  if (code === undefined || !/^unknown/i.test(code)) return code
  const named = Object.entries(constants.errno).find(([, number]) => number === -errno)
  return named?.[0] ?? code
}
