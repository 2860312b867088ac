/** A promise with its `resolve` function, as `Promise.withResolvers`, which Node 20 does not have. */
export function withResolvers(): { promise: Promise<void>; resolve: () => void } {
  let resolve!: () => void;
  const promise = new Promise<void>((ok) => {
    resolve = ok;
  });
  return { promise, resolve };
}
