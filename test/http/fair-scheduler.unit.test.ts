import { expect, onTestFinished, test, vi } from 'vitest';
import { FairScheduler } from '../../src/fair-scheduler.ts';

/** Longer than the turns of an iteration, so that each turn ends it. */
const TURN_MS = 4;

/** Does the work of a request that has just been read. */
function read(work: () => Promise<void>): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(() => resolve(work()));
  });
}

test('a partner gets a turn after each other had one, however many requests of others wait', async () => {
  const scheduler = new FairScheduler<string>();
  const turns: string[] = [];
  const work = async (partner: string): Promise<void> => {
    for (let turn = 0; turn < 3; turn += 1) {
      await scheduler.turn(partner);
      turns.push(partner);
      occupy();
    }
  };
  const partners = [...Array.from({ length: 20 }, () => 'flood'), 'modest', 'other'];
  await Promise.all(partners.map((partner) => read(() => work(partner))));
  expect(turns).toHaveLength(66);
  const last = Math.max(turns.lastIndexOf('modest'), turns.lastIndexOf('other'));
  expect(turns.slice(0, last).filter((partner) => partner === 'flood').length).toBeLessThanOrEqual(4);
});

test('what arrives is read between turns, however many wait', async () => {
  const scheduler = new FairScheduler<string>();
  const order: string[] = [];
  const works = Array.from({ length: 10 }, () =>
    read(async () => {
      await scheduler.turn('flood');
      occupy();
      order.push('turn');
    }),
  );
  setTimeout(() => order.push('arrived'), 1);
  await Promise.all(works);
  expect(order.indexOf('arrived')).toBeGreaterThanOrEqual(0);
  expect(order.indexOf('arrived')).toBeLessThan(4);
});

test('short steps of a partner share its turn while others wait, and long ones do not', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const scheduler = new FairScheduler<string>();
  expect(scheduler.turn('one')).toBeUndefined();
  vi.advanceTimersByTime(TURN_MS);
  const [first, other] = [scheduler.turn('one'), scheduler.turn('other')];
  await first;
  expect(scheduler.turn('one')).toBeUndefined();
  vi.advanceTimersByTime(TURN_MS);
  const next = scheduler.turn('one');
  await expect(Promise.race([next?.then(() => 'one'), other?.then(() => 'other')])).resolves.toBe('other');
  await next;
});

function occupy(): void {
  const endMs = performance.now() + TURN_MS;
  while (performance.now() < endMs);
}
