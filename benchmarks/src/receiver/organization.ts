/** The organization that the receiver answers with: its license allows more than any run needs. */
export function organizationJson(id: string): string {
  const daysFromNow = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString()
  return JSON.stringify({
    id,
    name: 'Benchmark',
    lastUsageSync: daysFromNow(0),
    license: {
      id: `license-${id}`,
      issuer: 'benchmark',
      issuedTo: id,
      issuedAt: daysFromNow(-100),
      validFrom: daysFromNow(-100),
      expiresAt: daysFromNow(100),
      billingPeriodStart: daysFromNow(-15),
      billingPeriodEnd: daysFromNow(15),
      apiRateLimitPerSecond: 100_000,
      maxDatasets: 100,
      maxFields: 1024,
      monthlyIngestGb: 1_000_000,
    },
    paymentStatus: 'success',
    plan: 'enterprise',
    planCreated: daysFromNow(-100),
    primaryEmail: 'owner@example.com',
  })
}
