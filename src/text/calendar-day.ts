const minDaysOfMonth = 28

/** Tells whether the day of a date such as `2026-02-30` exists. `Date.parse` reads that one as the second of March. */
export function isCalendarDay(date: string): boolean {
  const day = Number(date.slice(8, 10))
  if (day <= minDaysOfMonth) return true
  return new Date(Date.UTC(Number(date.slice(0, 4)), Number(date.slice(5, 7)) - 1, day)).getUTCDate() === day
}
