/**
 * Settles like a promise, or rejects after a deadline.
 *
 * Not ioredis' own `commandTimeout`: if this process was busy for longer than the timeout, timers run first, and
 * ioredis would give up on a response that is already in the socket buffer. Here, whatever has arrived by the deadline
 * is read before the decision.
 */
export function inTime<T>(promise: Promise<T>, deadlineMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      // Runs after the sockets have been read.
      setImmediate(() => reject(new Error(`no answer within ${deadlineMs} ms`)));
    }, deadlineMs);
    promise.finally(() => clearTimeout(timer)).then(resolve, reject);
  });
}
