import type { Receiver } from '../harness/receiver-process.ts'
import { runOnce } from '../harness/run-process.ts'
import { type Load, ordinaryLoad } from '../workload/load.ts'

/** What one measurement gives: figures by name (report/figure-labels.ts), or why there are none. */
export type Measured =
  | { readonly kind: 'figures'; readonly figures: Readonly<Record<string, number>> }
  | { readonly kind: 'not available'; readonly why: string }
  | { readonly kind: 'failed'; readonly why: string }

/** One line of an experiment: measured once in every round, in a process of its own. */
export interface Case {
  /** The set-up that is measured, or whatever else stands in its place. */
  readonly subject: string
  /** What differs between the lines of one subject: `4 KB`, `100 ms`. Empty when nothing does. */
  readonly variant: string
  measure(receiver: Receiver): Promise<Measured>
}

/** How much is measured: all of it, or what is most telling in under two minutes. */
export type Extent = 'full' | 'quick'

/** A question, and the measurements that answer it. */
export interface Experiment {
  readonly name: string
  readonly question: string
  readonly rounds: Readonly<Record<Extent, number>>
  /** Figures that its table shows, in order. */
  readonly shows: readonly string[]
  /** Figures that the report draws. */
  readonly charts: readonly string[]
  /** None where a quick run leaves it out. */
  cases(extent: Extent): readonly Case[]
}

/** Measures a set-up under a load that differs from the ordinary one by `changes`. */
export function shipping(subject: string, changes: Partial<Load> = {}, variant = ''): Case {
  const load = { ...ordinaryLoad, ...changes }
  return { subject, variant, measure: receiver => runOnce(receiver, subject, load) as Promise<Measured> }
}

/** Every subject under every load. */
export function crossed(subjects: readonly string[], loads: Readonly<Record<string, Partial<Load>>>): Case[] {
  return Object.entries(loads).flatMap(([variant, load]) => subjects.map(subject => shipping(subject, load, variant)))
}
