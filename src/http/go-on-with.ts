/**
 * Ends a hook with a value that is mostly known at once: then it goes on at once, since a
 * promise, and the turn of the event loop that it takes, would cost more than all the rest of
 * the hook. A value that has to be waited for is waited for.
 *
 * @param use may throw, as a hook may.
 */
export function goOnWith<T>(value: T | Promise<T>, use: (value: T) => void, done: (error?: Error) => void): void {
  if (value instanceof Promise) {
    value.then(use).then(() => done(), done);
    return;
  }
  use(value);
  done();
}
