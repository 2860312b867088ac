/**
 * The standard library has a callback of `finally` return nothing, but a promise that it returns is waited
 * for, and its rejection passed on.
 */
interface Promise<T> {
  finally(onfinally: () => PromiseLike<unknown>): Promise<T>;
}
