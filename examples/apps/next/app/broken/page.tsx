import { connection } from 'next/server'

export default async function Page() {
  await connection() // rendered for each request, not at build time
  throw new Error('the database is away')
}
