import { type Channel, channel } from 'node:diagnostics_channel'

/**
 * Publishes the diagnostic events of one shipper on channels of `node:diagnostics_channel`, which all shippers of the
 * process share.
 *
 * Node catches what a subscriber throws, and raises it as an uncaught exception in the next tick. So a subscriber cannot
 * disturb delivery. Its error ends the process as on any channel, unless the application handles uncaught exceptions.
 */
export class Channels {
  readonly #channels: ReadonlyMap<string, Channel>
  readonly #shipper: number

  /**
   * @param shipper number of the shipper, which each message carries
   * @param names names of the events that are published, each on the channel `logferry:<name>`
   */
  constructor(shipper: number, names: readonly string[]) {
    this.#channels = new Map(names.map(name => [name, channel(`logferry:${name}`)]))
    this.#shipper = shipper
  }

  hasSubscribers(name: string): boolean {
    return this.#channels.get(name)?.hasSubscribers === true
  }

  publish(name: string, notice: object): void {
    this.#channels.get(name)?.publish({ shipper: this.#shipper, ...notice })
  }
}
