/** Who looks after the service waits no longer than this for what has to be asked of the database. */
const PATIENCE_MS = 1_000;

/** Waits for some work, a second at most: it goes on meanwhile, and what was known before has to do. */
export async function waitPatiently(work: Promise<unknown>): Promise<void> {
  const { promise: patience, resolve: end } = Promise.withResolvers<null>();
  const timer = setTimeout(() => end(null), PATIENCE_MS);
  await Promise.race([work, patience]);
  clearTimeout(timer);
}
