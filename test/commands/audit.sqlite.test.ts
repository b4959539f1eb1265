import { hostname, userInfo } from 'node:os';
import { basename } from 'node:path';
import { expect, test } from 'vitest';
import { databaseForEachTest } from '../support/database.ts';
import { SMALL_CATALOG, withImportDirectory } from '../support/publishing.ts';
import { callPds } from './call-pds.ts';

const ME = `${userInfo().username}@${hostname()}`;

const made = databaseForEachTest();

const pds = (line: string, settings = {}) => callPds(line.split(' '), { ...made.settings, ...settings });

test('pds audit lists who did what, with system user and machine, newest last', async () => {
  await withImportDirectory(SMALL_CATALOG, async (directory) => {
    expect((await pds(`import ${directory}`)).code).toBe(0);
    await pds('partner create acme --everything', { SUDO_USER: 'bob\nmallory' });
    await pds('partner create other');
    const key = (await pds('key issue acme')).stdout.trim();
    const { code, stdout, stderr } = await pds('audit');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const lines = stdout.trimEnd().split('\n');
    expect(lines).toHaveLength(6);
    expect(lines[0]).toMatch(/^AT +BY +ACTION +PARTNER +KEY ID +DETAILS$/);
    expect(lines[1]).toContain('migrate');
    expect(lines[2]).toContain(`directory=${basename(directory)}`);
    // One line for each change, whatever a name contains.
    expect(lines[3]).toMatch(/Z {2}\S+@\S+ \(sudo by bob_mallory\) +partner create +acme +- +everything=true$/);
    expect(lines[3]).toContain(ME);
    expect(lines[5]).toMatch(new RegExp(`${ME} +key issue +acme +${key.slice(9, 17)} +environment=test expires_at=-$`));
    expect(stdout).not.toContain(key.slice(18));
  });
});

test('pds audit --partner lists the entries of a partner and its keys, and rejects an unknown name', async () => {
  await pds('partner create acme');
  await pds('partner create other');
  await pds('key issue acme');
  const { stdout } = await pds('audit --partner acme --json');
  const { changes } = JSON.parse(stdout) as { changes: Record<string, unknown>[] };
  expect(changes.map(({ action, actor, partner }) => [action, actor, partner])).toEqual([
    ['partner create', ME, 'acme'],
    ['key issue', ME, 'acme'],
  ]);
  expect(await pds('audit --partner acmee')).toMatchObject({ code: 1, stdout: '' });
});

test('pds audit --days omits older entries, and commands delete entries older than PDS_AUDIT_RETENTION_DAYS', async () => {
  await pds('partner create old');
  await made.database.kysely
    .updateTable('access.audit')
    .set({ at: new Date(Date.now() - 5 * 86_400_000).toISOString() })
    .execute();
  await pds('partner create acme', { PDS_AUDIT_RETENTION_DAYS: '6' });
  expect((await pds('audit --days 6')).stdout).toMatch(/ old .*\n.* acme /s);
  expect((await pds('audit --days 4')).stdout).not.toContain(' old ');
  await pds('partner create next', { PDS_AUDIT_RETENTION_DAYS: '4' });
  const { stdout } = await pds('audit --days 36500');
  expect(stdout).not.toContain(' old ');
  expect(stdout).toMatch(/ acme .*\n.* next /s);
});
