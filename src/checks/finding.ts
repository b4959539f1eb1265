/** What one look at something showed. Never holds a secret. */
export interface Finding {
  /** What was looked at. */
  readonly about: string;
  /** `fail`: something does not work. `warn`: it does, and may not be meant so. */
  readonly status: 'ok' | 'warn' | 'fail';
  readonly message: string;
  /** What to do about it; null where nothing is to be done. */
  readonly advice: string | null;
}

export const ok = (about: string, message: string): Finding => ({ about, status: 'ok', message, advice: null });

export const warn = (about: string, message: string, advice: string): Finding => ({
  ...{ about, status: 'warn', message, advice },
});

export const fail = (about: string, message: string, advice: string): Finding => ({
  ...{ about, status: 'fail', message, advice },
});

/** Longer than anything takes that works. */
const LONGEST_MS = 6_000;

/**
 * The findings of a check, or one that it came to no end, or broke off: the others are shown all the same.
 *
 * @param describe an error in words that may be shown.
 */
export async function within(
  about: string,
  describe: (error: unknown) => string,
  check: () => Promise<Finding[]>,
): Promise<Finding[]> {
  const { promise: late, resolve: giveUp } = Promise.withResolvers<Finding[]>();
  const timer = setTimeout(() => {
    const message = `no answer within ${LONGEST_MS / 1_000} seconds`;
    giveUp([fail(about, message, 'does it hang, or is it overloaded, or does a network on the way drop packets?')]);
  }, LONGEST_MS);
  try {
    return await Promise.race([check(), late]);
  } catch (error) {
    return [fail(about, describe(error), 'put this right, and look again: it kept the rest from being looked at')];
  } finally {
    clearTimeout(timer);
  }
}
