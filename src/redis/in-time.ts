/**
 * The outcome of a promise, or an error after so long.
 *
 * Not ioredis' own `commandTimeout`: where this process was busy for longer than that, timers
 * come first, and it would give up on an answer that lies in the socket and only has to be read.
 * So what has arrived by the deadline is read before the decision.
 */
export function inTime<T>(promise: Promise<T>, deadlineMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      // Comes after the sockets have been read.
      setImmediate(() => reject(new Error(`no answer within ${deadlineMs} ms`)));
    }, deadlineMs);
    promise.finally(() => clearTimeout(timer)).then(resolve, reject);
  });
}
