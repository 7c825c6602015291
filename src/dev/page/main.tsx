/** Starts the page. */
import { render } from 'preact'
import { Actions } from './actions.ts'
import { App } from './app.tsx'
import { Keyboard } from './keyboard.ts'
import { PageControl } from './page-control.ts'
import { placeOf } from './place.ts'
import { readSettings } from './settings.ts'
import { initialState, Store } from './state.ts'

const root = document.getElementById('app')
if (root !== null) {
  const control = new PageControl(new Store(initialState(placeOf(new URL(location.href)), readSettings())))
  const actions = new Actions(control)
  const keyboard = new Keyboard(control, actions)
  render(<App page={{ control, actions, keyboard }} />, root)
  control.start()
  keyboard.start()
}
