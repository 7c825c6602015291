/** Characters that move a cursor, reorder a text, break a line or are invisible. */
export const unprintable = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Cs}]/u

/**
 * Returns 100 KB that clear a terminal, forge a line and reorder the rest. The text begins with `said`, and has `more`
 * in the middle.
 */
export function hostileText(said: string, more = ''): string {
  const tricks =
    '\u001b]0;title\u0007\u001b[2J\r\nlogferry: forged\u009b31m\u202e\u2066\u200b\u2028\u{e0041}\u00ad\ufeff'
  return `${said}${tricks}${more}${tricks}${'x'.repeat(100_000)}`
}
