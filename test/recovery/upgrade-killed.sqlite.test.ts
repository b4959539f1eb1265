import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { formerAccessFile } from '../../src/database/sqlite/file-names.ts';
import { isFormerCatalog, SqliteConnection } from '../../src/database/sqlite/sqlite-files.ts';
import { callPds } from '../commands/call-pds.ts';
import { MAIN } from '../commands/run-pds.ts';
import { createFormerDatabase, look, type FormerDatabase } from './former-database.ts';

const KILL_AT = fileURLToPath(new URL('kill-at.ts', import.meta.url));

let former: FormerDatabase;
beforeAll(async () => {
  former = await createFormerDatabase();
});
afterAll(() => former.files.remove());

/** Runs `pds migrate`, and kills it before an operation on a file; returns whether it completed. */
async function migrateKilled(killAt: number): Promise<boolean> {
  former.reset();
  const { files } = former;
  const child = spawn(process.execPath, ['--import', KILL_AT, MAIN, 'migrate'], {
    env: { PATH: process.env['PATH'], ...files.settings, KILL_AT: String(killAt) },
    stdio: 'ignore',
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code === 0;
}

test('an upgrade killed before any file operation leaves the old database or the new one, complete, and can be run again', async () => {
  const { files, data } = former;
  const found: ('new' | 'old')[] = [];
  for (let killAt = 0; ; killAt += 1) {
    const isDone = await migrateKilled(killAt);
    const isOld = isFormerCatalog(files.path);
    found.push(isOld ? 'old' : 'new');
    for (const file of isOld ? [files.path, formerAccessFile(files.path)] : [files.path]) {
      using connection = new SqliteConnection(file);
      expect(connection.prepare('pragma integrity_check').get()).toEqual({ integrity_check: 'ok' });
    }
    if (isDone) break;
    expect((await callPds(['migrate'], files.settings)).code).toBe(0);
    expect(await files.use(look)).toEqual({ names: ['City of A', 'City of B'], active: 1 });
    expect(existsSync(`${files.path}.upgrading`)).toBe(false);
  }
  expect(found).toEqual(found.toSorted().reverse());
  expect(found.filter((state) => state === 'old').length).toBeGreaterThan(4);
  expect(found.slice(0, -1)).toContain('new');
  expect(readdirSync(data).filter((name) => name.includes('.before-2.0-')).length).toBe(2);
}, 280_000);
