/** The reason why delivery ended, as a part of a sentence. */
export type Ending = 'done' | 'the command was stopped' | 'the time was up' | 'the service did not accept them'

/** The endings for programs. These names stay as they are. */
export const endingNames: Readonly<Record<Ending, string>> = {
  done: 'done',
  'the command was stopped': 'stopped',
  'the time was up': 'timeout',
  'the service did not accept them': 'not-accepted',
}
