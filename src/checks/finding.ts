/** The result of one check. Never holds a secret. */
export interface Finding {
  readonly about: string;
  /** `fail`: something does not work. `warn`: it works, but may be unintended. */
  readonly status: 'ok' | 'warn' | 'fail';
  readonly message: string;
  /** The recommended action; null if none is needed. */
  readonly advice: string | null;
}

export const ok = (about: string, message: string): Finding => ({ about, status: 'ok', message, advice: null });

const withAdvice =
  (status: 'warn' | 'fail') =>
  (about: string, message: string, advice: string): Finding => ({ about, status, message, advice });

export const warn = withAdvice('warn');
export const fail = withAdvice('fail');

/** Longer than any check that works. */
const CHECK_TIMEOUT_MS = 6_000;

/** The findings of a check, or one if it timed out or failed. `describe` must leave out secrets. */
export async function within(
  about: string,
  describe: (error: unknown) => string,
  check: () => Promise<Finding[]>,
): Promise<Finding[]> {
  const { promise: timeout, resolve: onTimeout } = Promise.withResolvers<Finding[]>();
  const timer = setTimeout(() => {
    const message = `no response within ${CHECK_TIMEOUT_MS / 1_000} seconds`;
    onTimeout([fail(about, message, 'Check whether it hangs or is overloaded, and whether a firewall drops packets.')]);
  }, CHECK_TIMEOUT_MS);
  try {
    return await Promise.race([check(), timeout]);
  } catch (error) {
    return [
      fail(about, describe(error), 'Fix this, then check again: the remaining checks of this part were skipped.'),
    ];
  } finally {
    clearTimeout(timer);
  }
}
