/** A Winston info, or the object that a format of the application made of one. */
export type Info = Record<PropertyKey, unknown>

/** The level as it was logged. A format may have colored `info.level` since. */
export const loggedLevel = Symbol.for('level')

/** The text that Winston's formats make of an info. */
export const formattedText = Symbol.for('message')

/** The arguments after the message. */
export const splat = Symbol.for('splat')
