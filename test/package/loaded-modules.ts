/**
 * `node loaded-modules.ts SPECIFIER` imports a module and prints, as JSON, every module that this import loads: its
 * URL, and the URL of the importing module.
 */
import { registerHooks } from 'node:module'

const loaded: { url: string; parent: string | undefined }[] = []

registerHooks({
  resolve(specifier, context, nextResolve) {
    const resolved = nextResolve(specifier, context)
    loaded.push({ url: resolved.url, parent: context.parentURL })
    return resolved
  },
})

await import(process.argv[2] as string)
process.stdout.write(JSON.stringify(loaded))
