import * as v from 'valibot'
import type { MeterProvider } from './meter-provider.ts'

const expectedMeterProvider = 'a MeterProvider of @opentelemetry/api (an object with a getMeter method)'

/** Checks of the options in `AccountingOptions`. */
export const accountingEntries = {
  meterProvider: v.optional(
    v.custom<MeterProvider>(
      value => typeof (value as MeterProvider | null)?.getMeter === 'function',
      expectedMeterProvider,
    ),
  ),
  identify: v.optional(v.boolean('true or false'), false),
}
