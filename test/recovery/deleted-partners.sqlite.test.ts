import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { issueKey, listKeys } from '../../src/access/key-admin.ts';
import { createPartner, listPartners, setPartner, suspendPartner } from '../../src/access/partner-admin.ts';
import { findStoredKey } from '../../src/access/partner-records.ts';
import { deletePartner, renamePartner } from '../../src/access/partner-lifecycle.ts';
import type { OpenDatabase } from '../../src/database/database.ts';
import type { SqliteFiles } from '../support/sqlite-files.ts';
import { createBackedUp, type BackedUp } from './backed-up.ts';

const TEST_KEY = { environment: 'test', lifetimeMs: null } as const;

let files: SqliteFiles;
let backUp: BackedUp['backUp'];
let restore: BackedUp['restore'];

beforeEach(async () => {
  ({ files, backUp, restore } = await createBackedUp());
});
afterEach(() => files.remove());

async function names(database: OpenDatabase): Promise<string[]> {
  return (await listPartners(database, Date.now)).map(({ name }) => name);
}

async function restored(): Promise<{ carried_over: object; gone: { partners: string[]; grants: string[] } }> {
  const { code, stdout, stderr } = await restore();
  expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout) as Awaited<ReturnType<typeof restored>>;
}

describe('a partner deleted since the backup', { timeout: 120_000 }, () => {
  test('stays deleted after a restore, without a working key, also if another has its name', async () => {
    const keyId = await files.use(
      async (database) => (await issueKey(database, Date.now, 'acme', TEST_KEY)).details.id,
    );
    await backUp();
    await files.use(async (database) => {
      await suspendPartner(database, Date.now, 'acme');
      await setPartner(database, Date.now, 'acme', { kinds: ['coops'] });
      await deletePartner(database, Date.now, 'acme');
      await renamePartner(database, Date.now, 'bolt', 'acme');
      await createPartner(database, Date.now, 'passing', { everything: true });
      await deletePartner(database, Date.now, 'passing');
    });
    const { carried_over, gone } = await restored();
    expect(carried_over).toMatchObject({
      ...{ deleted_partners: ['acme'], renamed_partners: ['acme'], revoked_keys: [], revoked_grants: [] },
      ...{ suspended_partners: [], narrowed_partners: [] },
    });
    expect(gone.partners).toEqual([]);
    await files.use(async (database) => {
      expect(await names(database)).toEqual(['acme']);
      expect(await listKeys(database, Date.now, null)).toEqual([]);
      const stored = await findStoredKey(database, keyId, 600);
      expect(stored?.revoked_at).not.toBeNull();
      expect(stored?.partner.scope.everythingSince).toBeNull();
      expect((await listPartners(database, Date.now))[0]).toMatchObject({ leadEntityCount: 2, coopCount: 1 });
    });
    // The restored database knows that it was deleted, too.
    await restored();
    expect(await files.use(names)).toEqual(['acme']);
  });

  test('comes back if an earlier restore, not a deletion, removed it', async () => {
    await backUp();
    await files.use(async (database) => {
      await sql`delete from access.grants where partner_id = 2`.execute(database.kysely);
      await sql`delete from access.grant_changes where partner_id = 2`.execute(database.kysely);
      await sql`delete from access.partners where id = 2`.execute(database.kysely);
    });
    await restored();
    expect(await files.use(names)).toEqual(['acme', 'bolt']);
  });
});

test('partners renamed since the backup keep their new names and grants, even if they exchanged them', async () => {
  await backUp();
  await files.use(async (database) => {
    await renamePartner(database, Date.now, 'acme', 'between');
    await renamePartner(database, Date.now, 'bolt', 'acme');
    await renamePartner(database, Date.now, 'between', 'bolt');
  });
  expect(await restored()).toMatchObject({
    carried_over: { deleted_partners: [], renamed_partners: ['acme', 'bolt'], revoked_grants: [] },
    gone: { partners: [], grants: [] },
  });
  const partners = await files.use((database) => listPartners(database, Date.now));
  expect(partners.map(({ name, everythingSince }) => [name, everythingSince === null])).toEqual([
    ['acme', true],
    ['bolt', false],
  ]);
}, 120_000);

test('a database of the version before, without deletions, is restored with its restrictions', async () => {
  await backUp();
  await files.use(async (database) => {
    await sql`update access.partners set suspended_at = '2026-01-01T00:00:00.000Z' where name = 'bolt'`.execute(
      database.kysely,
    );
    await sql`alter table access.partners drop column deleted_at`.execute(database.kysely);
    await sql`delete from access.migrations where number > 6`.execute(database.kysely);
  });
  expect(await restored()).toMatchObject({ carried_over: { deleted_partners: [], suspended_partners: ['bolt'] } });
}, 120_000);
