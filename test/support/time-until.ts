import { AssertionError } from 'node:assert';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * Waits until a condition holds, and returns how many milliseconds that took.
 *
 * @throws AssertionError if it does not hold within 15 seconds.
 */
export async function timeUntil(holds: () => Promise<boolean>): Promise<number> {
  const startedAtMs = performance.now();
  while (!(await holds())) {
    if (performance.now() - startedAtMs > 15_000)
      throw new AssertionError({ message: 'the condition does not hold after 15 s' });
    await delay(5);
  }
  return performance.now() - startedAtMs;
}
