import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject } from 'vitest';
import { databaseUrlOf, runPds } from '../commands/run-pds.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { leftBehindIn, runPdsInTerminal } from '../support/in-terminal.ts';
import { testWith } from '../support/installed-programs.ts';

/** So many that the bar is seen long before the last of them is read. */
const RECORDS = 150_000;

const SIGNALS: [string, number][] = [
  ['ctrl-c', 130],
  ['term', 143],
];

const testWithPython = testWith('python');

let source: string;
let made: TestDatabase;
let folder: string;
let settings: Record<string, string>;

beforeAll(() => {
  source = mkdtempSync(join(tmpdir(), 'pds-source-'));
  const lines = Array.from({ length: RECORDS }, (_, index) =>
    JSON.stringify({ id: `co_${index}`, name: `Coop ${index}` }),
  );
  writeFileSync(join(source, 'coops.ndjson'), lines.join('\n'));
});
afterAll(() => rmSync(source, { recursive: true, force: true }));
beforeEach(async () => {
  made = await createTestDatabase();
  folder = mkdtempSync(join(tmpdir(), 'pds-temporary-'));
  settings = { PDS_DATABASE_URL: databaseUrlOf(made.config), TMPDIR: folder };
});
afterEach(async () => {
  rmSync(folder, { recursive: true, force: true });
  await made.drop();
});

describe('an import that is interrupted on a terminal', { timeout: 60_000 }, () => {
  testWithPython.each(SIGNALS)(
    'by %s gives the terminal back, says that nothing was published, and leaves no lock (needs python3)',
    async (typed, code) => {
      const outcome = await runPdsInTerminal(['import', source], settings, { text: 'coops.ndjson', typed });
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

  testWithPython('in a dry run without a database removes what it needed (needs python3)', async () => {
    if (inject('engine') === 'postgres') return;
    const nowhere = { PDS_DATABASE_URL: `sqlite:${join(folder, 'data', 'pds.sqlite')}`, TMPDIR: folder };
    const words = ['import', source, '--dry-run'];
    const outcome = await runPdsInTerminal(words, nowhere, { text: 'coops.ndjson', typed: 'ctrl-c' });
    expect(outcome.code).toBe(130);
    expect(leftBehindIn(outcome.output)).toEqual([]);
    expect(readdirSync(folder)).toEqual([]);
  });
});
