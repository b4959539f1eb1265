/**
 * Finishes a hook with a value that is usually available synchronously. Awaiting a promise would cost more than the
 * rest of the hook, so only an actual promise is awaited.
 *
 * @param use can throw, like a hook.
 */
export function finishHook<T>(value: T | Promise<T>, use: (value: T) => void, done: (error?: Error) => void): void {
  if (value instanceof Promise) {
    value.then(use).then(() => done(), done);
    return;
  }
  use(value);
  done();
}
