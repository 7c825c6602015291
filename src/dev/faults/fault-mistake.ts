/** A fault is not valid. The message says what is expected. */
export class FaultMistake extends Error {}
