/** The keys and settings, and the question before something is deleted. */
import { useEffect, useRef } from 'preact/hooks'
import { keyHelp } from './keyboard.ts'
import { type Props, usePage } from './page-context.ts'

export function Dialogs({ state }: Props) {
  if (state.dialog === 'help') return <HelpDialog state={state} />
  if (state.dialog === 'delete') return <DeleteDialog />
  return null
}

/** Opens as a modal dialog, which keeps the focus inside and gives it back at its end. */
function useModal() {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    dialog.current?.showModal()
  }, [])
  return dialog
}

const querySyntax: readonly [text: string, meaning: string][] = [
  ['timeout', 'any value contains it'],
  ['"timed out"', 'a phrase'],
  ['level:>=warn', 'warnings and worse'],
  ['http.status:>=500', 'a number in a field; also [500 TO 599]'],
  ['user.email:*@example.com', '* and ? in a whole value'],
  ['-health', 'no value contains it'],
  ['(a OR b) c', 'either of them; a space is AND'],
  ['user.id:*', 'the field exists'],
  ['message:/time(d )?out/i', 'a regular expression'],
  ['is:late  is:new  is:duplicate', 'what is known of the arrival'],
]

function HelpDialog({ state }: Props) {
  const { control } = usePage()
  const dialog = useModal()
  const { settings } = state
  const close = () => control.store.set({ dialog: null })
  return (
    <dialog ref={dialog} class="help" aria-labelledby="help-title" onClose={close}>
      <header>
        <h2 id="help-title">Keys, query, settings</h2>
        <button type="button" class="icon" aria-label="Close" onClick={() => dialog.current?.close()}>
          ✕
        </button>
      </header>
      <div class="help-columns">
        {keyHelp.map(({ title, keys }) => (
          <section key={title}>
            <h3>{title}</h3>
            <dl>
              {keys.map(({ keys: names, what }) => (
                <div key={names}>
                  <dt>
                    <kbd>{names}</kbd>
                  </dt>
                  <dd>{what}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
      <section>
        <h3>Query</h3>
        <dl class="syntax">
          {querySyntax.map(([text, meaning]) => (
            <div key={text}>
              <dt>
                <code>{text}</code>
              </dt>
              <dd>{meaning}</dd>
            </div>
          ))}
        </dl>
      </section>
      <section class="help-settings">
        <h3>Settings</h3>
        <label>
          <input
            type="checkbox"
            checked={settings.shortcuts}
            onChange={() => control.saveSettings({ ...settings, shortcuts: !settings.shortcuts })}
          />
          Single keys act on the page
        </label>
        <label>
          <input
            type="checkbox"
            checked={settings.utc}
            onChange={() => control.saveSettings({ ...settings, utc: !settings.utc })}
          />
          Show times in UTC
        </label>
        <p class="quiet">
          The find function of the browser sees only the rows on the screen. The query sees all events that are kept.
        </p>
      </section>
    </dialog>
  )
}

function DeleteDialog() {
  const { control, actions } = usePage()
  const dialog = useModal()
  return (
    <dialog ref={dialog} aria-labelledby="delete-title" onClose={() => control.store.set({ dialog: null })}>
      <h2 id="delete-title">Delete all events on the service?</h2>
      <p>They are gone for every tab and for the terminal. “Clear” (c) only hides them here.</p>
      <p class="dialog-actions">
        <button type="button" onClick={() => dialog.current?.close()}>
          Cancel
        </button>
        <button type="button" class="danger" onClick={() => void actions.deleteAll()}>
          Delete
        </button>
      </p>
    </dialog>
  )
}
