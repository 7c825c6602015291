/** Whether a text can name a dataset: it becomes one segment of a path, and `..` would lead out of it. */
export function isDatasetName(name: unknown): name is string {
  if (typeof name !== 'string' || name === '' || name === '.' || name === '..') return false
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  return name.length <= 1024 && !/[\u0000-\u001f\u007f]/.test(name) && name.isWellFormed()
}
