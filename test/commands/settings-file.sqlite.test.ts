import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { databaseUrlOf, runPds, runPdsThrough } from './run-pds.ts';
import { databaseForEachTest } from '../support/database.ts';

/** Starts several processes, on a busy machine. */
const SLOW = { timeout: 120_000 };

let folder: string;
const made = databaseForEachTest();
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'pds-settings-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('commands work on the database that the settings file names, or a file that it names', async () => {
  const [file, secret] = [join(folder, 'settings'), join(folder, 'secret')];
  writeFileSync(file, `PDS_DATABASE_URL='${databaseUrlOf(made.config)}'\n`);
  expect(await runPds(['--config', file, 'partner', 'create', 'acme', '--everything'], {})).toMatchObject({ code: 0 });
  writeFileSync(file, `PDS_DATABASE_URL_FILE='${secret}'\n`);
  writeFileSync(secret, `${databaseUrlOf(made.config)}\n`);
  const { code, stdout } = await runPds(['--config', file, 'partner', 'list', '--json'], {});
  expect(code).toBe(0);
  expect(stdout).toContain('"acme"');
  const partners = await made.database.kysely.selectFrom('access.partners').select('name').execute();
  expect(partners).toEqual([{ name: 'acme' }]);
});

test('pds check reads a settings file that is a pipe once', SLOW, async () => {
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  // Ends a command that waits for the pipe to be written again.
  const [checked] = await Promise.all([
    runPdsThrough(['timeout', '60'], ['check', '--config', pipe, '--json'], {}),
    writeFile(pipe, `PDS_DATABASE_URL='${databaseUrlOf(made.config)}'\n`),
  ]);
  expect(checked).toMatchObject({ code: 0 });
});
