/**
 * `Promise` of the language. An application may replace the global by that of a library, such as bluebird: it lacks
 * `withResolvers`, its `then` takes no other promises, and it calls back only after the sockets have been read.
 */
export const NativePromise = (async () => {})().constructor as PromiseConstructor
