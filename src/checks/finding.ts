/** The result of one check. Never holds a secret. */
export interface Finding {
  /** The subject of the check. */
  readonly about: string;
  /** `fail`: something does not work. `warn`: it works, but may be unintended. */
  readonly status: 'ok' | 'warn' | 'fail';
  readonly message: string;
  /** What to do about it; null if nothing. */
  readonly advice: string | null;
}

export const ok = (about: string, message: string): Finding => ({ about, status: 'ok', message, advice: null });

export const warn = (about: string, message: string, advice: string): Finding => ({
  ...{ about, status: 'warn', message, advice },
});

export const fail = (about: string, message: string, advice: string): Finding => ({
  ...{ about, status: 'fail', message, advice },
});

/** Longer than any check that works. */
const CHECK_TIMEOUT_MS = 6_000;

/**
 * Returns a check's findings, or a finding that it timed out or failed: the other checks are reported all the same.
 *
 * @param describe formats an error without secrets.
 */
export async function within(
  about: string,
  describe: (error: unknown) => string,
  check: () => Promise<Finding[]>,
): Promise<Finding[]> {
  const { promise: late, resolve: giveUp } = Promise.withResolvers<Finding[]>();
  const timer = setTimeout(() => {
    const message = `no answer within ${CHECK_TIMEOUT_MS / 1_000} seconds`;
    giveUp([fail(about, message, 'does it hang, or is it overloaded, or does a network on the way drop packets?')]);
  }, CHECK_TIMEOUT_MS);
  try {
    return await Promise.race([check(), late]);
  } catch (error) {
    return [fail(about, describe(error), 'put this right, and look again: it kept the rest from being looked at')];
  } finally {
    clearTimeout(timer);
  }
}
