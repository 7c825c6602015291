/** Starts the page. */
import { render } from 'preact'
import { Actions } from './actions.ts'
import { App } from './app.tsx'
import { Keyboard } from './keyboard.ts'
import { PageControl } from './page-control.ts'
import { placeOf } from './place.ts'
import { columnsFor, readSettings } from './settings.ts'
import { initialState, Store } from './state.ts'

const root = document.getElementById('app')
if (root !== null) {
  const settings = readSettings()
  const address = new URL(location.href)
  const place = placeOf(address)
  // An address that names no columns has those that the reader last used with its dataset.
  if (!address.searchParams.has('cols')) place.columns = columnsFor(settings, place.q)
  const control = new PageControl(new Store(initialState(place, settings)))
  const actions = new Actions(control)
  const keyboard = new Keyboard(control, actions)
  render(<App page={{ control, actions, keyboard }} />, root)
  control.start()
  keyboard.start()
}
