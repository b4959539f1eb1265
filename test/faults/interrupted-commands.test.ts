import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';
import { MAIN, runPds, runPdsSignalled } from '../commands/run-pds.ts';
import { databaseForEachTest } from '../support/database.ts';
import { leftBehindIn, runPdsInTerminal } from '../support/process/in-terminal.ts';
import { testWith } from '../support/installed-programs.ts';
import { newFolder } from '../support/new-folder.ts';
import { contract, publishLines, SMALL_CATALOG, supplier } from '../support/publishing.ts';
import { lockImports } from '../support/stored-catalog.ts';

/** Enough for the progress bar to appear long before the last is read. */
const RECORDS = 150_000;

const SIGNALS: [string, number][] = [
  ['ctrl-c', 130],
  ['term', 143],
];

const testWithPython = testWith('python');

const source = newFolder();
let folder: string;
let settings: Record<string, string>;

beforeAll(() => {
  const lines = Array.from({ length: RECORDS }, (_, index) =>
    JSON.stringify({ id: `co_${index}`, name: `Coop ${index}` }),
  );
  writeFileSync(join(source, 'coops.ndjson'), lines.join('\n'));
});
const made = databaseForEachTest();
beforeEach(() => {
  folder = newFolder();
  settings = { ...made.settings, TMPDIR: folder };
});

describe('an import interrupted on a terminal', { timeout: 60_000 }, () => {
  testWithPython.each(SIGNALS)(
    'by %s gives the terminal back, says that nothing was published, and leaves no lock (needs python3)',
    async (typed, code) => {
      const outcome = await runPdsInTerminal(['import', source], settings, { text: 'records | coops', typed });
      expect(outcome.code).toBe(code);
      expect(outcome.output).toContain('\u001b[?25l');
      expect(leftBehindIn(outcome.output)).toEqual([]);
      expect(outcome.output).toMatch(/Interrupted; nothing was published\.\r\n$/);
      expect(await made.database.kysely.selectFrom('catalog.coops').select('id').limit(1).execute()).toEqual([]);
      writeFileSync(join(folder, 'coops.ndjson'), JSON.stringify({ id: 'co_1', name: 'One' }));
      const next = await runPds(['import', folder], settings);
      expect(next).toMatchObject({ code: 0, stderr: expect.not.stringContaining('waiting') as string });
    },
  );

  testWithPython('in a comparison without a database removes what it needed (needs python3)', async () => {
    if (inject('engine') === 'postgres') return;
    const nowhere = { PDS_DATABASE_URL: `sqlite:${join(folder, 'data', 'pds.sqlite')}`, TMPDIR: folder };
    const outcome = await runPdsInTerminal(['diff', source], nowhere, { text: 'records | coops', typed: 'ctrl-c' });
    expect(outcome.code).toBe(130);
    expect(leftBehindIn(outcome.output)).toEqual([]);
    expect(readdirSync(folder)).toEqual([]);
  });
});

/** Enough to be rerendered in several batches. */
const EMBEDDING_CONTRACTS = 1_500;

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)(
  '%s while records that embed a changed one are rerendered ends an import, and nothing is published',
  { timeout: 60_000 },
  async (signal, code) => {
    const contracts = Array.from({ length: EMBEDDING_CONTRACTS }, (_, index) => contract(`ctr_${index}`));
    await publishLines(made.database, { ...SMALL_CATALOG, contracts });
    const releases = () => made.database.kysely.selectFrom('catalog.releases').select('number').execute();
    const before = await releases();
    const renamed = { ...supplier('sup_1'), name: 'Renamed' };
    writeFileSync(join(folder, 'suppliers.ndjson'), JSON.stringify(renamed));
    const outcome = await runPdsSignalled(['import', folder], settings, { signal, statement: 'select distinct' });
    expect(outcome).toMatchObject({ code, stderr: 'Interrupted; nothing was published.\n' });
    expect(await releases()).toEqual(before);
    expect(await runPds(['import', folder], settings)).toMatchObject({
      code: 0,
      stderr: expect.stringContaining(`because a record that they embed did: ${EMBEDDING_CONTRACTS}.`) as string,
    });
  },
);

test('Ctrl-C while waiting for another import ends an import immediately', { timeout: 60_000 }, async () => {
  writeFileSync(join(folder, 'coops.ndjson'), JSON.stringify({ id: 'co_1', name: 'One' }));
  const release = await lockImports(made.database);
  try {
    const child = spawn(process.execPath, [MAIN, 'import', folder], {
      env: { PATH: process.env['PATH'], ...settings },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const exited = once(child, 'exit') as Promise<[number | null]>;
    let stderr = '';
    let signalledAt = Infinity;
    for await (const chunk of child.stderr.setEncoding('utf8')) {
      stderr += chunk as string;
      if (signalledAt !== Infinity || !stderr.includes('Waiting')) continue;
      signalledAt = performance.now();
      child.kill('SIGINT');
    }
    expect(await exited).toEqual([130, null]);
    // Half of the grace period after which an interrupted command is killed.
    expect(performance.now() - signalledAt).toBeLessThan(1_000);
    expect(stderr).toMatch(/Interrupted; nothing was published\.\n$/);
  } finally {
    await release();
  }
});
