import { describe, expect, test } from 'vitest';
import { Places } from '../../src/http/places.ts';

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
