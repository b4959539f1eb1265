import { setImmediate as nextTick, setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { RateLimitResult } from '../../src/rate-limiting/rate-limiter.ts';
import { SimulatedWorkers } from './simulated-workers.ts';

const passedOf = (limitResults: readonly RateLimitResult[]): number =>
  limitResults.filter(({ isExceeded }) => !isExceeded).length;

/** Counts requests concurrently. */
const countAll = (workers: SimulatedWorkers, times: number, quota: number): Promise<RateLimitResult[]> =>
  Promise.all(Array.from({ length: times }, async () => workers.first.count('partner:1', quota)));

describe('the limits in a worker', () => {
  test('count the requests of one event-loop tick with one message', async () => {
    const workers = new SimulatedWorkers(2);
    expect(passedOf(await countAll(workers, 50, 10))).toBe(10);
    expect(workers.messages).toBe(1);
  });

  test('become its share if the primary does not respond within a second, until it does', async () => {
    const workers = new SimulatedWorkers(2);
    workers.isPrimarySilent = true;
    expect(passedOf(await countAll(workers, 20, 10))).toBe(5);
    expect(workers.first.count('partner:1', 10)).toMatchObject({ isExceeded: true });
    expect(workers.logged).toHaveLength(1);
    workers.isPrimarySilent = false;
    workers.deliverAll();
    expect(workers.logged).toHaveLength(2);
    // The primary has counted the requests of the batch to which it responded late.
    expect(passedOf(await countAll(workers, 20, 30))).toBe(10);
  });

  test('become its share immediately if the primary exits', async () => {
    const workers = new SimulatedWorkers(2);
    workers.isPrimarySilent = true;
    const waiting = countAll(workers, 20, 10);
    await nextTick();
    const late = countAll(workers, 20, 10);
    workers.first.countAlone();
    expect(passedOf(await waiting) + passedOf(await late)).toBe(5);
    expect(workers.first.count('partner:2', 10)).toMatchObject({ remaining: 4 });
  });

  test('stay exact if the worker itself was too busy to read the response', async () => {
    const workers = new SimulatedWorkers(2);
    const counted = countAll(workers, 1, 10);
    await nextTick();
    const busyUntilMs = performance.now() + 1_100;
    while (performance.now() < busyUntilMs);
    expect((await counted)[0]?.remaining).toBe(9);
    await delay(10);
    expect(workers.logged).toEqual([]);
  });
});
