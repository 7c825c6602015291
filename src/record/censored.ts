/** Stands for a place whose value is redacted. The line writer knows this value, and loads nothing else of redaction. */
export const censored = 'censored'
