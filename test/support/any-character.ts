import fc from 'fast-check'

const surrogatesFrom = 0xd800
const surrogates = 0x800

/**
 * Any character, as the unit of `fc.string`. It is what `unit: 'binary'` stands for, which takes a second of the processor to
 * prepare.
 */
export const anyCharacter: fc.Arbitrary<string> = fc.integer({ min: 0, max: 0x10ffff - surrogates }).map(
  n => String.fromCodePoint(n < surrogatesFrom ? n : n + surrogates),
  character => {
    if (typeof character !== 'string' || !/^[^\ud800-\udfff]$/su.test(character)) throw new Error('no character')
    const n = character.codePointAt(0) as number
    return n < surrogatesFrom ? n : n - surrogates
  },
)
