export const baseUrl = process.env.LOGFERRY_URL as string
export const token = process.env.LOGFERRY_TOKEN as string
export const dataset = 'checkout'
