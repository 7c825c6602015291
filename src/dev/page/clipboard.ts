/**
 * Copies a text, also where the page has no secure context because it is opened by the name of another computer. A text
 * that is still being read is promised to the clipboard: WebKit permits a copy only at the click, not after an answer.
 */
export async function copyText(text: string | Promise<string>): Promise<void> {
  if (navigator.clipboard !== undefined) {
    if (typeof text === 'string') return navigator.clipboard.writeText(text)
    const type = 'text/plain'
    const content = text.then(read => new Blob([read], { type }))
    return navigator.clipboard.write([new ClipboardItem({ [type]: content })])
  }
  const area = document.createElement('textarea')
  area.value = await text
  area.className = 'off-screen'
  const focused = document.activeElement
  document.body.append(area)
  area.select()
  const isCopied = document.execCommand('copy')
  area.remove()
  if (focused instanceof HTMLElement) focused.focus()
  if (!isCopied) throw new Error('This browser does not let the page copy.')
}

/** Saves a text as a file. */
export function saveText(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  URL.revokeObjectURL(url)
}
