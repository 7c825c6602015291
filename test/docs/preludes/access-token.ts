export const accessToken = process.env.ACCESS_TOKEN as string
