import { describe, expect, test } from 'vitest';
import { FairSemaphore } from '../../src/http/server/admission.ts';

describe('FairSemaphore', () => {
  test('gives a lone holder half of the permits, two a third each, and always leaves some for a newcomer', () => {
    const alone = new FairSemaphore<string>(100);
    expect(take(alone, 'a')).toBe(50);
    const two = new FairSemaphore<string>(99);
    for (let count = 0; count < 33; count += 1) expect([two.acquire('a'), two.acquire('b')]).toEqual([true, true]);
    expect([two.acquire('a'), two.acquire('b')]).toEqual([false, false]);
    expect(take(two, 'c')).toBe(17);
  });

  test('reuses released permits', () => {
    const semaphore = new FairSemaphore<string>(4);
    expect(take(semaphore, 'a')).toBe(2);
    semaphore.release('a');
    expect(semaphore.acquire('a')).toBe(true);
    expect(semaphore.acquire('a')).toBe(false);
    expect(() => semaphore.release('b')).toThrow('not taken');
  });
});

function take(semaphore: FairSemaphore<string>, who: string): number {
  let taken = 0;
  while (semaphore.acquire(who)) taken += 1;
  return taken;
}
