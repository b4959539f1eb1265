import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { Places } from '../../src/http/places.ts';
import { Turns } from '../../src/paging/turns.ts';

describe('places', () => {
  test('let nobody hold more than are free: one alone half, two a third each, and always one for who has none', () => {
    const alone = new Places<string>(100);
    expect(take(alone, 'a')).toBe(50);
    const two = new Places<string>(99);
    for (let count = 0; count < 33; count += 1) expect([two.take('a'), two.take('b')]).toEqual([true, true]);
    expect([two.take('a'), two.take('b')]).toEqual([false, false]);
    expect(take(two, 'c')).toBe(17);
  });

  test('are there for others when they are given back', () => {
    const places = new Places<string>(4);
    expect(take(places, 'a')).toBe(2);
    places.giveBack('a');
    expect(places.take('a')).toBe(true);
    expect(places.take('a')).toBe(false);
    expect(() => places.giveBack('b')).toThrow('not taken');
  });
});

function take(places: Places<string>, who: string): number {
  let taken = 0;
  while (places.take(who)) taken += 1;
  return taken;
}

describe('turns', () => {
  test('are one for each turn of the event loop, in the order in which they were asked for', async () => {
    const turns = new Turns();
    const order: number[] = [];
    for (const partner of [1, 2, 3]) void turns.next(partner).then(() => order.push(partner));
    const seen: number[] = [];
    for (let turn = 0; turn < 5; turn += 1) {
      await nextTurn();
      seen.push(order.length);
    }
    expect(order).toEqual([1, 2, 3]);
    expect(Math.max(...seen.map((count, index) => count - (seen[index - 1] ?? 0)))).toBe(1);
  });

  test('are refused with 429 where too many wait, and not to who waits for none', async () => {
    const turns = new Turns();
    const waiting = Array.from({ length: 140 }, () => turns.next(1));
    const outcomes = await Promise.allSettled([...waiting, turns.next(2)]);
    const refused = outcomes.filter(({ status }) => status === 'rejected');
    expect(refused).toHaveLength(12);
    expect(refused[0]).toMatchObject({ reason: { status: 429, code: 'rate_limited' } });
    expect(outcomes.at(-1)?.status).toBe('fulfilled');
  });
});
