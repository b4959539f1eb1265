/** The longest that a probe or scrape waits for the database. */
const PATIENCE_MS = 1_000;

/**
 * Waits for some work for at most a second. The work continues afterwards, and the caller uses the last known value.
 */
export async function waitPatiently(work: Promise<unknown>): Promise<void> {
  const { promise: patience, resolve: end } = Promise.withResolvers<null>();
  const timer = setTimeout(() => end(null), PATIENCE_MS);
  await Promise.race([work, patience]);
  clearTimeout(timer);
}
