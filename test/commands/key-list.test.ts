import { beforeEach, describe, expect, test } from 'vitest';
import { issueKey, revokeKey, rotateKey } from '../../src/access/key-admin.ts';
import { createPartner } from '../../src/access/partner-admin.ts';
import { databaseForEachTest } from '../support/database.ts';
import { storeUsage } from '../usage/recording.ts';
import { callPds } from './call-pds.ts';

const DAY_MS = 86_400_000;

const made = databaseForEachTest();
beforeEach(() => createPartner(made.database, Date.now, 'acme', { everything: false }));

const pds = (...words: string[]) => callPds(words, made.settings);

async function pdsJson(...words: string[]): Promise<Record<string, unknown>> {
  return JSON.parse((await pds(...words, '--json')).stdout) as Record<string, unknown>;
}

/** Issues a key and returns its public ID. */
async function issue(lifetimeDays: number | null = null, label: string | null = null): Promise<string> {
  const lifetimeMs = lifetimeDays === null ? null : lifetimeDays * DAY_MS;
  const options = { environment: 'test', lifetimeMs, label } as const;
  return (await issueKey(made.database, Date.now, 'acme', options)).details.id;
}

describe('pds key list', { timeout: 120_000 }, () => {
  test('shows the label and the last day of use, or that none is stored', async () => {
    const used = String((await pdsJson('key', 'issue', 'acme', '--label', 'billing system'))['id']);
    const unused = await issue();
    for (const day of ['2026-04-15', '2026-05-02', '2026-03-31'])
      await storeUsage(made.database, { day, key_id: used });
    for (const words of [
      ['key', 'list'],
      ['partner', 'show', 'acme'],
    ]) {
      const { stdout } = await pds(...words);
      expect(stdout).toMatch(/^KEY ID .* LAST USED +REPLACED BY +PARTNER +LABEL$/m);
      expect(stdout).toMatch(new RegExp(`^${used} .* 2026-05-02 +- +acme +billing system$`, 'm'));
      expect(stdout).toMatch(new RegExp(`^${unused} .* - +- +acme +-$`, 'm'));
      const { keys } = await pdsJson(...words);
      expect(keys).toEqual(
        expect.arrayContaining([
          expect.objectContaining({ id: used, label: 'billing system', last_used_on: '2026-05-02' }),
          expect.objectContaining({ id: unused, label: null, last_used_on: null }),
        ]),
      );
    }
  });

  test('--expiring lists only active keys that end within the span, and exits 1 if there are any', async () => {
    await issue();
    await issue(90);
    const revoked = await issue(10);
    await revokeKey(made.database, Date.now, revoked);
    const ended = await issue(1);
    const past = new Date(Date.now() - DAY_MS).toISOString();
    await made.database.kysely.updateTable('access.keys').set({ expires_at: past }).where('id', '=', ended).execute();
    expect(await pds('key', 'list', '--expiring', '30d')).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(await pdsJson('key', 'list', '--expiring', '30d')).toEqual({ keys: [] });

    const soon = await issue(29);
    const rotated = await issue();
    await rotateKey(made.database, Date.now, rotated, 20 * DAY_MS);
    const { code, stdout, stderr } = await pds('key', 'list', '--expiring', '30d');
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
    expect(stdout.split('\n').map((line) => line.split(' ')[0])).toEqual(['KEY', soon, rotated, '']);
    expect((await pds('key', 'list', '--expiring', '21d')).stdout).not.toContain(soon);
    await createPartner(made.database, Date.now, 'bolt', { everything: false });
    expect(await pds('key', 'list', 'bolt', '--expiring', '30d')).toMatchObject({ code: 0 });
  });
});
