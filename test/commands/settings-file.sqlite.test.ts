import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { MAIN, startServingOf } from '../support/serving-process.ts';
import { databaseUrlOf, runPds, runPdsThrough } from './run-pds.ts';

/** Starts several processes, on a busy machine. */
const SLOW = { timeout: 120_000 };

let folder: string;
let file: string;
let made: TestDatabase;
beforeEach(async () => {
  made = await createTestDatabase();
  folder = mkdtempSync(join(tmpdir(), 'pds-settings-'));
  file = join(folder, '.env');
  writeFileSync(file, `PDS_DATABASE_URL='${databaseUrlOf(made.config)}'\n`, { mode: 0o600 });
});
afterEach(async () => {
  rmSync(folder, { recursive: true, force: true });
  await made.drop();
});

test('commands work on the database of the settings file, found or named', async () => {
  const created = await runPdsThrough(['env', '-C', folder], ['partner', 'create', 'acme', '--everything'], {});
  expect(created).toMatchObject({ code: 0 });
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

test('workers keep the settings that the service was started with, also if the file changes', SLOW, async () => {
  const started = { PDS_ADMIN_PORT: '0', PDS_LOG_LEVEL: 'info' };
  const serving = startServingOf(MAIN, started, '--config', file, '--workers', '2');
  try {
    await serving.said('all workers are serving');
    writeFileSync(file, 'not a setting');
    const listening = /"pid":(\d+),[^\n]*Server listening/;
    await serving.said(listening);
    process.kill(Number(listening.exec(serving.output())?.[1]), 'SIGKILL');
    await serving.said(/a worker is replaced[^]*Server listening/);
    const response = await fetch(`http://127.0.0.1:${await serving.port()}/v1/coops`);
    expect(response.status).toBe(401);
  } finally {
    serving.kill('SIGTERM');
    await serving.closed;
  }
});
