import { gzipSync } from 'node:zlib';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ImportRefusedError, type Problem } from '../../src/publishing/problems.ts';
import { publish } from '../../src/publishing/publication.ts';
import { listSources } from '../../src/publishing/source.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { contract, publishLines, SMALL_CATALOG, type ImportLines } from '../support/publishing.ts';
import { REFUSED_LINES } from './refused-lines.ts';

let made: TestDatabase;
let before: string;

beforeAll(async () => {
  made = await createTestDatabase();
  await publishLines(made.database, SMALL_CATALOG);
  before = await contents();
});
afterAll(() => made.drop());

/** All that is published, as text. */
async function contents(): Promise<string> {
  const { kysely } = made.database;
  const rows = await Promise.all(
    (['publications', 'lead_entities', 'certifications', 'suppliers', 'contracts', 'solicitations'] as const).map(
      (table) => kysely.selectFrom(`catalog.${table}`).selectAll().execute(),
    ),
  );
  return JSON.stringify(rows);
}

async function problemsOf(files: ImportLines): Promise<readonly Problem[]> {
  const refusal: unknown = await publishLines(made.database, files).then(
    () => null,
    (error: unknown) => error,
  );
  if (!(refusal instanceof ImportRefusedError)) throw new Error('the import was not refused', { cause: refusal });
  return refusal.problems;
}

describe('an import is refused, with file, line, field and reason, and writes nothing, for', () => {
  test.each(REFUSED_LINES)('%s', async (_what, files, line, field, reason) => {
    const [problem, ...others] = await problemsOf(files);
    expect(problem).toMatchObject({ file: `${Object.keys(files)[0]}.ndjson`, line, field });
    expect(problem?.reason).toMatch(reason);
    expect(others.length).toBeLessThan(2);
    expect(await contents()).toBe(before);
  });
});

test('reports the problems of all files at once, in the order of the lines', async () => {
  const problems = await problemsOf({
    coops: [{ id: 'co_1' }, { id: 'co_2', name: '' }],
    contracts: [
      { ...contract('ctr_9'), coop_id: 'co_1' },
      { ...contract('ctr_8'), name: '' },
    ],
  });
  expect(problems.map(({ file, line, field }) => [file, line, field])).toEqual([
    ['coops.ndjson', 1, 'name'],
    ['coops.ndjson', 2, 'name'],
    // ctr_9 names a coop that is there, though with a mistake of its own.
    ['contracts.ndjson', 2, 'name'],
  ]);
});

test('stops at a hundred problems', async () => {
  expect(await problemsOf({ coops: Array.from({ length: 500 }, (_, i) => ({ id: `co_${i}` })) })).toHaveLength(100);
});

test.each([
  ['an archive that was cut short', gzipSync(`${JSON.stringify({ id: 'co_1', name: 'X' })}\n`).subarray(0, -6)],
  ['an archive that is none', Buffer.from('{"id":"co_1","name":"X"}\n')],
])('refuses %s, and writes nothing', async (_what, bytes) => {
  const directory = mkdtempSync(join(tmpdir(), 'pds-import-'));
  writeFileSync(join(directory, 'coops.ndjson.gz'), bytes);
  const sources = await listSources(directory);
  await expect(publish(made.database, sources, { clock: Date.now })).rejects.toThrow(/coops.ndjson.gz: cannot be read/);
  rmSync(directory, { recursive: true });
  expect(await contents()).toBe(before);
});

test('refuses a directory that is not there, holds nothing, or holds a kind twice', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'pds-import-'));
  await expect(listSources(join(directory, 'none'))).rejects.toThrow(/is no directory/);
  await expect(listSources(directory)).rejects.toThrow(/holds no import file/);
  writeFileSync(join(directory, 'coops.ndjson'), '');
  writeFileSync(join(directory, 'coops.ndjson.gz'), '');
  await expect(listSources(directory)).rejects.toThrow(/same kind as coops.ndjson/);
  rmSync(directory, { recursive: true });
});
