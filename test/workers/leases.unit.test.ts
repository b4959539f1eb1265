import fc from 'fast-check';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { RateLimitResult } from '../../src/http/request-counts.ts';
import { SimulatedWorkers, WINDOW_MS } from './simulated-workers.ts';

const WORKERS = 3;

const worker = fc.nat({ max: WORKERS - 1 });

type Event = (simulated: SimulatedWorkers, asked: Promise<RateLimitResult>[]) => void;

/** Events in any plausible order. */
function eventWith(quota: number): fc.Arbitrary<Event> {
  const requests = fc.tuple(worker, fc.integer({ min: 1, max: 12 })).map(([at, times]): Event => (simulated, asked) => {
    if (simulated.isDead(at)) return;
    for (let time = 0; time < times; time += 1) asked.push(Promise.resolve(simulated.request(at, quota)));
  });
  const delivery = fc.tuple(worker, fc.constantFrom('toPrimary', 'toWorker')).map(
    ([at, direction]): Event =>
      (simulated) =>
        void simulated.deliver(at, direction),
  );
  const silence = fc.constant<Event>((simulated) => simulated.deliverAll());
  return fc.oneof(
    { weight: 4, arbitrary: requests },
    { weight: 10, arbitrary: delivery },
    { weight: 1, arbitrary: silence },
  );
}

const eventsWith = (quota: number): fc.Arbitrary<Event[]> =>
  fc.array(eventWith(quota), { maxLength: 120, size: 'max' });

const passedOf = (limitResults: readonly RateLimitResult[]): number =>
  limitResults.filter(({ isExceeded }) => !isExceeded).length;

describe('leases of requests', () => {
  test('let exactly the quota pass, however requests are spread and messages are delayed', async () => {
    const course = fc.integer({ min: 1, max: 80 }).chain((quota) => fc.tuple(fc.constant(quota), eventsWith(quota)));
    await fc.assert(
      fc.asyncProperty(course, async ([quota, events]) => {
        const simulated = new SimulatedWorkers(WORKERS);
        const asked: Promise<RateLimitResult>[] = [];
        for (const happen of events) happen(simulated, asked);
        simulated.deliverAll();
        const limitResults = await Promise.all(asked);
        expect(passedOf(limitResults)).toBe(Math.min(quota, asked.length));
        for (const { remaining } of limitResults) expect(remaining).toBeGreaterThanOrEqual(0);
      }),
    );
  });

  test('never let more than the quota pass where a worker dies, and no one waits for it', async () => {
    const course = fc.tuple(eventsWith(40), eventsWith(40));
    await fc.assert(
      fc.asyncProperty(course, async ([before, after]) => {
        const simulated = new SimulatedWorkers(WORKERS);
        const asked: Promise<RateLimitResult>[] = [];
        const answered: RateLimitResult[] = [];
        for (const happen of before) happen(simulated, asked);
        // Responses the worker has not sent by now are lost.
        for (const request of asked) void request.then((limitResult) => answered.push(limitResult));
        await Promise.resolve();
        simulated.kill(0);
        const askedLater: Promise<RateLimitResult>[] = [];
        for (const happen of after) happen(simulated, askedLater);
        simulated.deliverAll();
        await Promise.all(askedLater);
        expect(passedOf(answered) + passedOf(await Promise.all(askedLater))).toBeLessThanOrEqual(40);
      }),
    );
  });

  test('count like one process where requests come one after the other, with changing quotas and windows', async () => {
    const step = fc.record({
      at: worker,
      quota: fc.constantFrom(3, 20, 21, 60),
      times: fc.integer({ min: 1, max: 12 }),
      waitMs: fc.oneof({ weight: 9, arbitrary: fc.constant(0) }, fc.integer({ min: 1, max: WINDOW_MS })),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60, size: 'max' }), async (steps) => {
        const simulated = new SimulatedWorkers(WORKERS);
        let window = { count: 0, endsAtMs: 0 };
        for (const { at, quota, times, waitMs } of steps) {
          simulated.nowMs += waitMs;
          for (let time = 0; time < times; time += 1) {
            const { nowMs } = simulated;
            if (window.endsAtMs <= nowMs) window = { count: 0, endsAtMs: nowMs + WINDOW_MS };
            window.count += 1;
            const asked = simulated.request(at, quota);
            simulated.deliverAll();
            const { isExceeded, resetSeconds } = await asked;
            expect({ isExceeded, resetSeconds }).toEqual({
              isExceeded: window.count > quota,
              resetSeconds: Math.ceil((window.endsAtMs - nowMs) / 1000),
            });
          }
        }
      }),
    );
  });

  test('are asked for seldom while much is left: most requests are decided at once', () => {
    const simulated = new SimulatedWorkers(2);
    let asked = 0;
    for (let request = 0; request < 600; request += 1) {
      if (simulated.request(request % 2, 600) instanceof Promise) asked += 1;
      simulated.deliverAll();
    }
    expect(asked).toBeLessThan(40);
  });

  test('that are not given back in time count as used, until they are', async () => {
    const simulated = new SimulatedWorkers(2);
    void simulated.request(0, 8);
    simulated.deliverAll();
    // Worker 0 holds one more permit, and is silent from here on.
    const passed = [];
    for (let request = 0; request < 6; request += 1) {
      const asked = simulated.request(1, 8);
      simulated.deliver(1, 'toPrimary');
      simulated.deliver(1, 'toWorker');
      passed.push(await asked);
    }
    expect(passedOf(passed)).toBe(6);
    const refused = simulated.request(1, 8);
    simulated.deliver(1, 'toPrimary');
    await delay(600);
    simulated.deliver(1, 'toWorker');
    expect((await refused).isExceeded).toBe(true);
    const late = simulated.request(0, 8);
    simulated.deliverAll();
    expect((await late).isExceeded).toBe(false);
  });

  test('are replaced by a count of its own, up to its share, where the primary does not answer', async () => {
    const simulated = new SimulatedWorkers(2);
    const waited = simulated.request(0, 10);
    expect(waited).toBeInstanceOf(Promise);
    // Nothing is delivered, and the worker stops waiting after one second.
    expect((await waited).isExceeded).toBe(false);
    const alone = await Promise.all(Array.from({ length: 9 }, async () => simulated.request(0, 10)));
    expect(passedOf(alone)).toBe(4);
    // Once the primary responds, it counts again.
    simulated.deliverAll();
    const counted = simulated.request(0, 10);
    simulated.deliverAll();
    expect((await counted).isExceeded).toBe(false);
  });
});
