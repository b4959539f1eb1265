import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { beforeAll, expect, test } from 'vitest';
import type { ImportRefusedError } from '../../src/publishing/problems.ts';
import { publish } from '../../src/publishing/publish.ts';
import { listSources } from '../../src/publishing/read/source.ts';
import { refusalOf } from '../support/publishing.ts';
import { TEST_NOW, serviceForAllTests } from '../support/service.ts';
import { publishedText } from '../support/stored-catalog.ts';
import { ResponseContract } from './response-contract.ts';
import { importDirectories, type ImportDirectory } from './import-directories.ts';
import { fuzz, fuzzRuns } from './seeds.ts';

const IMPORTS = 150;
const MAX_RUN_MS = 60 * 60_000;

/** The number of requests that take as long as one import, for long runs. */
const REQUESTS_OF_AN_IMPORT = 20;

const contract = new ResponseContract();

const service = serviceForAllTests({ partners: [{ name: 'all', everything: true }] });
beforeAll(async () => {
  const { engine, kysely } = service.database;
  // The data need not survive a power cut.
  if (engine === 'sqlite') await sql`pragma catalog.synchronous = off`.execute(kysely);
});

async function importFiles({ files }: ImportDirectory): Promise<ImportRefusedError | null> {
  const directory = mkdtempSync(join(tmpdir(), 'pds-fuzz-'));
  try {
    for (const [name, bytes] of Object.entries(files)) writeFileSync(join(directory, name), bytes);
    const importing = listSources(directory).then((sources) =>
      publish(service.database, sources, { clock: () => Date.parse(TEST_NOW) }),
    );
    return await refusalOf(importing);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** Asserts that everything stored is served, as documented. */
async function expectServed({ catalog, verdict }: ImportDirectory): Promise<void> {
  await service.noticeChanges();
  const { key } = service.partner('all');
  const get = async (path: string): Promise<unknown> => {
    const { status, headers, body } = await service.get(path, { key });
    const response = {
      status,
      headers: new Map(Object.entries(headers).map(([name, value]) => [name, String(value)])),
      body: Buffer.from(body),
    };
    expect(
      contract.faultsOf({ method: 'GET', path: path.split('?', 1)[0] ?? '', hasValidKey: true }, response),
      path,
    ).toEqual([]);
    expect(status, path).toBe(200);
    return JSON.parse(body);
  };
  for (const [kind, records] of Object.entries(catalog)) {
    const { data } = (await get(`/v1/${kind}?limit=100`)) as { data: Record<string, unknown>[] };
    const listed = new Map(data.map((record) => [record['id'] ?? record['abbreviation'], record]));
    for (const { id } of ['contracts', 'suppliers', 'solicitations'].includes(kind) ? data : [])
      await get(`/v1/${kind}/${String(id)}`);
    if (verdict !== 'right') continue;
    for (const record of records.filter(({ status }) => status !== 'draft')) {
      const served = listed.get(record['id'] ?? record['abbreviation']);
      expect(served, JSON.stringify(record)).toMatchObject(
        Object.fromEntries(
          ['id', 'abbreviation', 'name', 'title', 'ref']
            .filter((field) => field in record)
            .map((field) => [field, record[field]]),
        ),
      );
    }
  }
}

test.each(fuzzRuns('import', IMPORTS, REQUESTS_OF_AN_IMPORT))(
  'an import is published and served, or refused with file, line, field and reason and without a change (seed $seed, $runs imports)',
  async (run) => {
    const tally = { published: 0, refused: 0 };
    await fuzz('import', run, importDirectories, async (directory) => {
      const before = await publishedText(service.database);
      const refusal = await importFiles(directory);
      tally[refusal === null ? 'published' : 'refused'] += 1;
      if (refusal === null) {
        expect(directory.verdict).not.toBe('wrong');
        await expectServed(directory);
        return;
      }
      expect(directory.verdict, refusal.message).not.toBe('right');
      expect(await publishedText(service.database)).toBe(before);
      expect(refusal.problems.length).toBeGreaterThan(0);
      expect(refusal.problems.length).toBeLessThanOrEqual(100);
      for (const { file, line, reason } of refusal.problems) {
        expect(Object.keys(directory.files)).toContain(file);
        expect(line === null || line > 0, refusal.message).toBe(true);
        // The reason describes the fault, and does not quote the whole line.
        expect(reason.length, reason.slice(0, 500)).toBeLessThan(500);
        expect(reason).not.toBe('');
      }
    });
    // Far below the expected share of either, so that chance does not matter.
    for (const [outcome, times] of Object.entries(tally)) expect(times, outcome).toBeGreaterThan(run.runs / 20);
  },
  MAX_RUN_MS,
);
