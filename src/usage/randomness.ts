/**
 * The letters that follow `a`, `b` and so on at least once in a hundred times, in names of TypeScript, Java, Go and C#.
 * These pairs are 97 % of the pairs in names, and 43 % of those of random letters.
 */
const followers =
  'bcdgilmnprstuy aeijlorsuy acehiklorstuy abcdeiloprsuy acdfglmnpqrstvx aefilorstuy aeghilnorstuy aeiort ' +
  'abcdefglmnoprstvz adekostuvw aceilnosu adeilostuvy abeilmopsu acdefginostuv abcdfgklmnoprstuvw aeiloprstu elu ' +
  'acdegimnorstuvy acehioprstuy acehiorstuy abcdefgilmnprst aceio aehiknorst aceipty bdeilmnpstw aeiorsuy'

/**
 * The logarithm, in bits, of how much more often one character follows another at random than in names. The index is
 * the code of the first character, times 128, plus the code of the second. Signs tell nothing: names and base64 have
 * them.
 */
const bitsOfPair = new Int8Array(128 * 128)
const digits = '0123456789'
const letters = 'abcdefghijklmnopqrstuvwxyz'
const capitals = letters.toUpperCase()
setPairs(letters + capitals, letters, 4)
setPairs(letters, capitals, 2)
setPairs(capitals, capitals, 3)
setPairs(letters + capitals, digits, 5)
setPairs(digits, digits + letters + capitals, 2)
for (const [i, common] of followers.split(' ').entries()) {
  const letter = letters.charAt(i)
  const capital = letter.toUpperCase()
  setPairs(letter + capital, common, -2)
  setPairs(capital, common.toUpperCase(), 0)
}

function setPairs(firsts: string, seconds: string, bits: number): void {
  for (const first of firsts) {
    for (const second of seconds) bitsOfPair[first.charCodeAt(0) * 128 + second.charCodeAt(0)] = bits
  }
}

/**
 * Returns how much more likely characters are at random than in a name such as `getUserById`: the sum over all pairs of
 * neighbors, in bits. Of 10,000 names, 3 to 10 have more than 0; of 10,000 random ones of 14 characters, 9,988.
 */
export function randomness(message: string, start: number, end: number): number {
  let bits = 0
  let first = 0
  for (let at = start; at < end; at++) {
    const unit = message.charCodeAt(at)
    const second = unit < 128 ? unit : 0
    bits += bitsOfPair[first * 128 + second] as number
    first = second
  }
  return bits
}
