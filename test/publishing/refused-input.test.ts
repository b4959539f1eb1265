import { execFileSync } from 'node:child_process';
import { gzipSync } from 'node:zlib';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { publish } from '../../src/publishing/publish.ts';
import { listSources, type Source } from '../../src/publishing/read/source.ts';
import { databaseForAllTests } from '../support/database.ts';
import { testWith } from '../support/installed-programs.ts';
import { newFolder } from '../support/new-folder.ts';
import { contract, publishLines, refusalOf, SMALL_CATALOG, supplier, type ImportLines } from '../support/publishing.ts';
import { publishedText } from '../support/stored-catalog.ts';
import { REFUSED_LINES } from './refused-lines.ts';

let before: string;

const made = databaseForAllTests();
beforeAll(async () => {
  await publishLines(made.database, SMALL_CATALOG);
  before = await publishedText(made.database);
});

const refusalFor = async (files: ImportLines) =>
  (await refusalOf(publishLines(made.database, files))) ?? expect.fail('the import was not refused');
const problemsOf = async (files: ImportLines) => (await refusalFor(files)).problems;

describe('an import is refused with file, line, field and reason, and writes nothing, for', () => {
  test.each(REFUSED_LINES)('%s', async (_case, files, field, reason, line = 1) => {
    const [problem, ...others] = await problemsOf(files);
    expect(problem).toMatchObject({ file: `${Object.keys(files)[0]}.ndjson`, line, field });
    expect(problem?.reason).toMatch(reason);
    expect(others.length).toBeLessThan(2);
    expect(await publishedText(made.database)).toBe(before);
  });
});

test('reports the problems of all files at once, in the order of lines', async () => {
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
    // ctr_9 references a coop that exists, although with an error of its own.
    ['contracts.ndjson', 2, 'name'],
  ]);
});

test('stops after a hundred different problems', async () => {
  const coops = Array.from({ length: 500 }, (_, i) => ({ id: `co_${i}`, name: 'X', [`x${i}`]: 1 }));
  const problems = await problemsOf({ coops });
  expect(problems).toHaveLength(100);
  expect(problems.at(-1)).toMatchObject({ line: 100, field: 'x99' });
});

test('reports an invalid value of many lines once, with the first value as an example', async () => {
  const suppliers = Array.from({ length: 300 }, (_, i) => ({ ...supplier(`sup_${i}`), states_served: `PA${i}` }));
  const refusal = await refusalFor({ suppliers });
  expect(refusal.problems).toEqual([
    {
      ...{ file: 'suppliers.ndjson', line: 1, field: 'states_served', count: 300, lines: [1, 2, 3, 4, 5] },
      reason: 'must be a list, e.g. ["PA"]; found "PA0" and others',
    },
  ]);
  expect(refusal.message).toBe(
    'suppliers.ndjson: states_served: must be a list, e.g. ["PA"]; found "PA0" and others (300 lines: 1, 2, 3, 4, 5, …)',
  );
});

test('reports different invalid items of one list once, with their line', async () => {
  const { message } = await refusalFor({ suppliers: [{ ...supplier('sup_1'), states_served: ['YY', 'PA', 'ZZ'] }] });
  expect(message).toBe(
    'suppliers.ndjson:1: states_served[]: must be a USPS two-letter state code in capitals; found "YY" and others',
  );
});

test('reports equal problems of many lines once, with their number and the first lines', async () => {
  const coops = Array.from({ length: 500 }, (_, i) => (i % 5 === 4 ? { id: `co_${i}` } : { id: `co_${i}`, name: 'X' }));
  const suppliers = [['ZZ'], ['PA', 'ZZ'], ['PA']].map((states_served, i) => ({
    ...supplier(`sup_${i}`),
    states_served,
  }));
  const refusal = await refusalFor({ coops, suppliers });
  const [missing, state, ...others] = refusal.problems;
  expect(missing).toEqual({
    ...{ file: 'coops.ndjson', line: 5, field: 'name', reason: 'is missing' },
    ...{ count: 100, lines: [5, 10, 15, 20, 25] },
  });
  expect(state).toMatchObject({ line: 1, field: 'states_served[]', count: 2, lines: [1, 2] });
  expect(others).toEqual([]);
  expect(refusal.count).toBe(102);
  expect(refusal.message.split('\n')).toEqual([
    'coops.ndjson: name: is missing (100 lines: 5, 10, 15, 20, 25, …)',
    'suppliers.ndjson: states_served[]: must be a USPS two-letter state code in capitals; found "ZZ" (2 lines: 1, 2)',
  ]);
});

test.each([
  ['a truncated archive', gzipSync(`${JSON.stringify({ id: 'co_1', name: 'X' })}\n`).subarray(0, -6)],
  ['a file that is not gzip despite its name', Buffer.from('{"id":"co_1","name":"X"}\n')],
])('refuses %s, and writes nothing', async (_case, bytes) => {
  await expect(withFiles({ 'coops.ndjson.gz': bytes }, publishFrom)).rejects.toThrow(/coops.ndjson.gz: cannot be read/);
  expect(await publishedText(made.database)).toBe(before);
});

test('refuses a directory that does not exist, is empty, or has two files of one kind', async () => {
  await expect(listSources('/nowhere/none')).rejects.toThrow(/none: does not exist$/);
  await expect(withFiles({}, listSources)).rejects.toThrow(/contains no import file/);
  const twice = withFiles({ 'coops.ndjson': '', 'coops.ndjson.gz': '' }, listSources);
  await expect(twice).rejects.toThrow(/same kind of records as coops.ndjson/);
});

const RECORD = '{"id":"co_1","name":"X"}\n';
const ARRAY = `[\n${RECORD.trim()}\n]`;

describe('a file of another format is reported once, with its format and a command to convert it:', () => {
  test.each([
    [
      'a JSON array',
      ARRAY,
      /^coops.ndjson: contains a JSON array; one JSON object per line .* jq -c '\.\[\]' coops.ndjson > coops.ndjson.tmp && mv coops.ndjson.tmp coops.ndjson$/,
    ],
    ['a JSON array on one line', JSON.stringify([{ id: 'co_1', name: 'X' }]), /contains a JSON array/],
    [
      'JSON with indents',
      JSON.stringify({ id: 'co_1', name: 'X' }, null, 2),
      /contains JSON objects over several lines; .* jq -c \. /,
    ],
    ['UTF-16 with a byte order mark', Buffer.from(`\ufeff${RECORD}`, 'utf16le'), /is UTF-16; UTF-8 is expected.*iconv/],
    ['UTF-16 without a byte order mark', Buffer.from(RECORD, 'utf16le'), /is UTF-16/],
    ['big-endian UTF-16', Buffer.from(`\ufeff${RECORD}`, 'utf16le').swap16(), /is UTF-16/],
    ['a CSV table', 'id,name\nco_1,X\nco_2,Y\n', /contains a table \(CSV\); one JSON object per line/],
    ['an archive without the ending .gz', gzipSync(RECORD), /is packed as gzip; .* coops.ndjson.gz/],
  ])('%s', async (_case, content, hint) => {
    const lines = typeof content === 'string' ? content.split('\n') : [content];
    const { message } = await refusalFor({ coops: lines, suppliers: [{ ...supplier('sup_1'), name: '' }] });
    expect(message.split('\n')).toEqual([expect.stringMatching(hint)]);
  });

  test('within an archive', async () => {
    await expect(withFiles({ 'coops.ndjson.gz': gzipSync(ARRAY) }, publishFrom)).rejects.toThrow(
      /^coops.ndjson.gz: contains a JSON array; .*: gunzip coops.ndjson.gz && jq -c '\.\[\]' coops.ndjson > coops.ndjson.tmp && mv /,
    );
  });

  const utf16 = Buffer.from(RECORD, 'utf16le');
  testWith('gzip', 'iconv').each([
    ['UTF-16 with a byte order mark', 'coops.ndjson', Buffer.from(`\ufeff${RECORD}`, 'utf16le')],
    ['big-endian UTF-16 with a byte order mark', 'coops.ndjson', Buffer.from(`\ufeff${RECORD}`, 'utf16le').swap16()],
    ['UTF-16 without a byte order mark', 'coops.ndjson', utf16],
    ['big-endian UTF-16 without a byte order mark', 'coops.ndjson', Buffer.from(utf16).swap16()],
    ['UTF-16 in an archive', 'coops.ndjson.gz', gzipSync(utf16)],
  ])('%s, with commands that produce an importable directory', async (_case, name, content) => {
    await withFiles({ [name]: content }, async (directory) => {
      const tryOut = async (): Promise<unknown> =>
        publish(made.database, await listSources(directory), { clock: Date.now, dryRun: true });
      const hint = await tryOut().catch((error: unknown) => (error as Error).message);
      execFileSync('sh', ['-c', String(hint).split('Convert it: ')[1] ?? ''], { cwd: directory });
      await expect(tryOut()).resolves.toMatchObject({ kinds: { coops: { added: 1 } } });
    });
  });

  test.each([
    ['coops.json', /^coops.json: is not read: .* in coops.ndjson or coops.ndjson.gz\. Convert it$/],
    ['lead Entities.csv', /lead-entities.ndjson or/],
    ['coops.jsonl', /^coops.jsonl: .* rename it coops.ndjson$/],
    ['coops.jsonl.gz', /rename it coops.ndjson.gz$/],
    ['Coops.NDJSON', /rename it coops.ndjson$/],
    ['coops.ndjson.zip', /is not read/],
    ['coops.tar.gz', /is not read/],
    [
      'city_services.ndjson.gz',
      /^city_services.ndjson.gz: is not an import file; the files are lead-entities.ndjson, /,
    ],
    ['vendors.ndjson', /^vendors.ndjson: is not an import file; the files are /],
  ])('%s', async (name, hint) => {
    await expect(withFiles({ [name]: RECORD, 'suppliers.ndjson': '' }, listSources)).rejects.toThrow(hint);
  });
});

test("ignores files of other formats next to a kind's import file, and files of no kind", async () => {
  const names = [
    'coops.json',
    'coops.csv',
    'README.md',
    'contracts.md',
    'suppliers',
    'suppliers.ndjson.bak',
    'data.json',
  ];
  const files = Object.fromEntries(names.map((name) => [name, 'x']));
  const sources = await withFiles({ ...files, 'coops.ndjson': RECORD }, listSources);
  expect(sources.map(({ name }) => name)).toEqual(['coops.ndjson']);
});

test('refuses a file in place of a directory, and names the directory', async () => {
  await withFiles({ 'coops.ndjson': RECORD }, async (directory) => {
    const file = join(directory, 'coops.ndjson');
    await expect(listSources(file)).rejects.toThrow(`${file}: is a file; give its directory, ${directory}`);
  });
});

/** Runs `work` on a temporary directory with these files, then removes it. */
async function withFiles<T>(
  files: Record<string, string | Uint8Array>,
  work: (directory: string) => Promise<T>,
): Promise<T> {
  const directory = newFolder();
  for (const [name, content] of Object.entries(files)) writeFileSync(join(directory, name), content);
  return await work(directory);
}

async function publishFrom(directory: string): Promise<unknown> {
  return publish(made.database, await listSources(directory), { clock: Date.now });
}

test('a line that is appended while an import reads the file, with the advice to import again', async () => {
  let reads = 0;
  const source: Source = {
    kind: 'suppliers',
    name: 'suppliers.ndjson',
    size: 0,
    open: () => {
      reads += 1;
      // Its format and its ids are read before its records.
      const records = reads < 3 ? [supplier('sup_8')] : [supplier('sup_8'), supplier('sup_9')];
      return ReadableStream.from(records.map((record) => Buffer.from(`${JSON.stringify(record)}\n`)));
    },
  };
  const publishing = publish(made.database, [source], { clock: Date.now });
  await expect(publishing).rejects.toThrow(
    'suppliers.ndjson:2: id: is new since the file was read first: import it again',
  );
});
