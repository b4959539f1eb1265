import { sql } from 'kysely';
import { expect, test } from 'vitest';
import type { TextsQuery } from '../../src/database/database.ts';
import { openForServing } from '../../src/database/open.ts';
import { databaseForAllTests } from '../support/database.ts';
import { forAllTests } from '../support/lifetimes.ts';

const made = databaseForAllTests();
const database = forAllTests(() => openForServing(made.config));

interface Head {
  revision: string;
  name: string;
}

async function read(ordinals: string, text: string) {
  const build = (): TextsQuery<Head> => ({
    head: sql<Head>`select '1-a' as revision, 'é' as name`,
    texts: sql`select ordinal, ordinal::text as key, ${sql.raw(text)} as text, null::text as changes_at from ${sql.raw(ordinals)} as ordinal`,
  });
  return database.readTexts(`${ordinals} ${text}`, build, {});
}

test.each([
  ['no text', 'generate_series(1, 0)', `'x'`, []],
  ['one text', 'generate_series(1, 1)', `'x'`, ['x']],
  ['texts of several bytes a character', 'generate_series(1, 3)', `'é😀' || ordinal`, ['é😀1', 'é😀2', 'é😀3']],
  [
    'texts shorter than a row, so that messages end anywhere in what a socket receives at once',
    'generate_series(1, 40000)',
    'ordinal::text',
    Array.from({ length: 40_000 }, (_, index) => String(index + 1)),
  ],
  [
    'texts longer than what a socket receives at once',
    'generate_series(1, 9)',
    `repeat(chr(96 + ordinal), ordinal * 300000)`,
    Array.from({ length: 9 }, (_, index) => String.fromCharCode(97 + index).repeat((index + 1) * 300_000)),
  ],
  [
    'hundreds of texts that come in the reverse order',
    'generate_series(950, 1, -1)',
    'ordinal::text',
    Array.from({ length: 950 }, (_, index) => String(index + 1)),
  ],
  [
    'ordinals that are negative or large',
    'unnest(array[7000000000, -5, 0])',
    'ordinal::text',
    ['-5', '0', '7000000000'],
  ],
])(
  'reads %s, each followed by a line feed, in the order of their ordinals',
  async (_what, ordinals, text, expected) => {
    const { head, count, bytes } = await read(ordinals, text);
    expect(head).toEqual({ revision: '1-a', name: 'é' });
    expect(count).toBe(expected.length);
    expect(Buffer.from(bytes).toString() === expected.map((line) => `${line}\n`).join('')).toBe(true);
  },
);

test('a connection is usable for any statement after it has read texts, or failed to', async () => {
  for (let time = 0; time < 30; time += 1) {
    await expect(read('generate_series(1, 9000)', `repeat('x', 1000) || (1 / (ordinal - 9000))`)).rejects.toThrow(
      'zero',
    );
    expect((await read('generate_series(1, 9000)', `repeat('x', 1000)`)).count).toBe(9_000);
    const rows = await database.run('rows', () => sql`select 'x' as text from generate_series(1, 10)`, {});
    expect(rows).toEqual(Array(10).fill({ text: 'x' }));
  }
});

test('texts read at the same time are not mixed up', async () => {
  const letters = ['a', 'b', 'c', 'd', 'e'];
  const all = await Promise.all(letters.map((letter) => read('generate_series(1, 3000)', `repeat('${letter}', 999)`)));
  const found = all.map(({ bytes }) => [...new Set(Buffer.from(bytes).toString().split('\n'))]);
  expect(found).toEqual(letters.map((letter) => [letter.repeat(999), '']));
});
