import fc from 'fast-check';
import { expect, test } from 'vitest';
import { STRIDE } from '../../src/database/renumbering.ts';
import { numbersBetween } from '../../src/publishing/number-gaps.ts';

const number = fc.integer({ min: -(2 ** 40), max: 2 ** 40 });

test('numbers rise strictly between those of the neighbours, or there is no room', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.stringMatching(/^[a-c][0-9]{1,3}$/), { minLength: 3, maxLength: 60 }),
      number,
      fc.oneof(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 1, max: 2 ** 40 })),
      (unordered, start, room) => {
        const [first = '', ...rest] = unordered.sort();
        const ids = rest.slice(0, -1);
        const last = rest.at(-1) ?? '';
        const planned = numbersBetween(ids, { id: first, number: start }, { id: last, number: start + room }, 4);
        expect(planned === null).toBe(room <= ids.length);
        if (planned === null) return;
        expect(planned).toHaveLength(ids.length);
        const all = [start, ...planned, start + room];
        expect(all.every((value, index) => Number.isSafeInteger(value) && value > (all[index - 1] ?? -Infinity))).toBe(
          true,
        );
      },
    ),
  );
});

test('before the first and after the last, numbers are a stride apart', () => {
  expect(numbersBetween(['a', 'b'], null, null, 8)).toEqual([8, 16]);
  expect(numbersBetween(['c', 'd'], { id: 'b', number: 5 }, null, 8)).toEqual([13, 21]);
  expect(numbersBetween(['a', 'b'], null, { id: 'c', number: 5 }, 8)).toEqual([-11, -3]);
  expect(numbersBetween(['c'], { id: 'b', number: Number.MAX_SAFE_INTEGER - 4 }, null, 8)).toBeNull();
});

test.each([
  ['counted at the end', (count: string) => `RFP-${count}`, 'RFQ-000000'],
  ['counted in the middle', (count: string) => `RFP-${count}-26`, 'RFP-ADDENDUM'],
])('a series that is %s grows for long before another one', (_, idOf, next) => {
  let left = { id: idOf('000000'), number: 0 };
  const right = { id: next, number: STRIDE };
  for (let count = 1; count <= 4_000; count += 1) {
    const id = idOf(String(count).padStart(6, '0'));
    const planned = numbersBetween([id], left, right, STRIDE);
    expect(planned).not.toBeNull();
    left = { id, number: planned?.[0] ?? 0 };
  }
});

test('forty random ids find room one after the other, but for two of a hundred times', () => {
  // What is true of most cases is no property: these are the same cases each time.
  const value = fc.noBias(fc.nat(2 ** 32 - 1));
  const cases = fc.sample(fc.uniqueArray(value, { minLength: 40, maxLength: 40 }), { seed: 20260415, numRuns: 500 });
  expect(cases.filter(findRoom).length).toBeGreaterThan(490);
});

function findRoom(values: readonly number[]): boolean {
  const held = [
    { id: '00000000', number: 0 },
    { id: 'g', number: STRIDE },
  ];
  for (const id of values.map((each) => each.toString(16).padStart(8, '0'))) {
    const place = held.findIndex((other) => other.id > id);
    const [left, right] = [held[place - 1], held[place]];
    if (left === undefined || right === undefined || left.id === id) continue;
    const [number] = numbersBetween([id], left, right, STRIDE) ?? [];
    if (number === undefined) return false;
    held.splice(place, 0, { id, number });
  }
  return true;
}
