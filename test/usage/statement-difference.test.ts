import { describe, expect, it } from 'vitest'
import { differenceOf, samePieces } from '../../src/usage/statement-difference.ts'
import { statementText } from '../../src/usage/statement-text.ts'

function statementOf(message: string) {
  const text = statementText(message)
  return { text, endChars: 0, pieces: samePieces(text, message) }
}

describe('the difference of two statements', () => {
  it.each([
    [
      'after the words that follow a value',
      'task 7: the order was placed by 3',
      'task 8: the order was removed by 4',
      1,
      14,
    ],
    [
      'after the last of several values',
      'of 7 in 12 cm the order was placed 3',
      'of 8 in 5 cm the order was paid 4',
      3,
      18,
    ],
    ['after the part of a path that is a value', 'GET /users/7/orders/8', 'GET /users/9/invoices/3', 1, 0],
    ['after a bracket', '[10 May 2026 08:12] the order', '[11 May 2026 09:30] the user', 1, 5],
    ['after a part that only one has', 'GET /users/7/orders ok', 'GET /users/9 ok', 1, 0],
    ['after double spaces', '7  INFO --- placed', '8  INFO --- paid', 1, 10],
    ['in the word after a value', 'job 7 placed an order of 3', 'job 8 removed an order of 4', 1, 0],
  ])('is reached by the fewest signs: %s', (_, message, other, index, offset) => {
    expect(differenceOf(statementOf(message), statementOf(other))).toMatchObject({ kind: 'piece', index, offset })
  })
})
