import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { grant, listGrants } from '../../src/access/grant-admin.ts';
import { findKey, issueKey, listKeys, revokeKey } from '../../src/access/key-admin.ts';
import {
  createPartner,
  deletePartner,
  getPartner,
  listPartners,
  renamePartner,
  setPartner,
  suspendPartner,
} from '../../src/access/partner-admin.ts';
import { PartnerDirectory } from '../../src/access/partner-directory.ts';
import { listAuditEntries } from '../../src/database/audit.ts';
import { dayOf } from '../../src/timestamp.ts';
import { reportUsage, reportUsageOf } from '../../src/usage/usage-report.ts';
import { databaseForEachTest } from '../support/database.ts';
import { publishLines, SMALL_CATALOG } from '../support/publishing.ts';
import { storeUsage } from '../usage/recording.ts';

const TEST_KEY = { environment: 'test', lifetimeMs: null } as const;

let directory: PartnerDirectory;
let key: string;
let keyId: string;

const made = databaseForEachTest();
beforeEach(async () => {
  await publishLines(made.database, SMALL_CATALOG);
  await createPartner(made.database, Date.now, 'acme', { everything: true });
  await grant(made.database, Date.now, 'acme', { everything: false, leadEntities: ['le_a'], coops: ['co_x'] });
  const issued = await issueKey(made.database, Date.now, 'acme', TEST_KEY);
  key = issued.key;
  keyId = issued.details.id;
  const options = { environment: 'dev', requestsPerMinute: 600, clock: Date.now } as const;
  directory = new PartnerDirectory({ database: made.database, ...options });
  await directory.start();
});
afterEach(() => directory.stop());

/** The partner that a running server resolves the key to, once it has noticed the change. */
async function foundAfter(change: Promise<unknown>): Promise<{ id: number; name: string } | null> {
  const before = directory.revision;
  await change;
  while (directory.revision === before) await delay(20);
  return (await directory.findByKey(key))?.partner ?? null;
}

async function changesOf(partner: string) {
  const changes = await listAuditEntries(made.database, Date.now, { days: 1, partner });
  return changes.map(({ action, partner: name, details }) => [action, name, details] as const);
}

describe('a renamed partner', () => {
  test('keeps its keys and grants, and running servers use the new name', async () => {
    const before = await directory.findByKey(key);
    const renamed = renamePartner(made.database, Date.now, 'acme', 'acme-corp');
    expect(await foundAfter(renamed)).toMatchObject({ id: before?.partner.id, name: 'acme-corp' });
    const { leadEntities } = await listGrants(made.database, 'acme-corp');
    expect(leadEntities.map(({ id }) => id)).toEqual(['le_a']);
    await expect(getPartner(made.database, Date.now, 'acme')).rejects.toThrow('there is no partner "acme"');
  });

  test('is found in the audit trail with the changes under its former names, but not those of others', async () => {
    await renamePartner(made.database, Date.now, 'acme', 'beta');
    await renamePartner(made.database, Date.now, 'beta', 'gamma');
    await createPartner(made.database, Date.now, 'acme', { everything: false });
    await suspendPartner(made.database, Date.now, 'gamma');
    const changes = await changesOf('gamma');
    expect(changes.map(([action, name]) => `${action} ${name ?? ''}`)).toEqual([
      'partner create acme',
      'partner grant acme',
      'key issue acme',
      'partner rename acme',
      'partner rename beta',
      'partner suspend gamma',
    ]);
    expect(changes[3]?.[2]).toEqual({ to: 'beta' });
  });

  test('cannot get an invalid name or that of another, ignoring case, but can change case', async () => {
    await createPartner(made.database, Date.now, 'bolt', { everything: false });
    await expect(renamePartner(made.database, Date.now, 'acme', 'a/b')).rejects.toThrow('1 to 64 letters');
    await expect(renamePartner(made.database, Date.now, 'acme', 'BOLT')).rejects.toThrow('"bolt" already exists');
    await expect(renamePartner(made.database, Date.now, 'nobody', 'new')).rejects.toThrow('no partner "nobody"');
    await renamePartner(made.database, Date.now, 'acme', 'ACME');
    expect((await listPartners(made.database, Date.now)).map(({ name }) => name)).toEqual(['ACME', 'bolt']);
  });
});

test('a partner that a restore left with a number in its name is shown by that name', async () => {
  await made.database.kysely.updateTable('access.partners').set({ name: 'acme#7' }).execute();
  expect(await findKey(made.database, Date.now, key)).toMatchObject({ id: keyId, state: 'active', partner: 'acme#7' });
});

describe('a deleted partner', () => {
  test('has no valid key on running servers, and no command finds it or its keys', async () => {
    expect(await directory.findByKey(key)).not.toBeNull();
    const deleting = deletePartner(made.database, Date.now, 'acme');
    expect(await foundAfter(deleting)).toBeNull();
    expect(await deleting).toEqual({ endedKeys: [keyId], grantCount: 2 });
    expect(await listPartners(made.database, Date.now)).toEqual([]);
    expect(await listKeys(made.database, Date.now, null)).toEqual([]);
    for (const refused of [
      () => getPartner(made.database, Date.now, 'acme'),
      () => setPartner(made.database, Date.now, 'acme', { kinds: null }),
      () => issueKey(made.database, Date.now, 'acme', TEST_KEY),
      () => deletePartner(made.database, Date.now, 'acme'),
      () => revokeKey(made.database, Date.now, keyId),
    ]) {
      await expect(refused()).rejects.toThrow(/there is no (partner "acme"|key)/);
    }
    // A leaked key still shows whose it was.
    expect(await findKey(made.database, Date.now, key)).toMatchObject({ id: keyId, state: 'revoked', partner: 'acme' });
  });

  test('stays in the audit trail by name, and in the usage of all partners', async () => {
    await storeUsage(made.database, { day: dayOf(Date.now()), key_id: keyId, requests: 7 });
    await createPartner(made.database, Date.now, 'idle', { everything: false });
    await deletePartner(made.database, Date.now, 'acme');
    await deletePartner(made.database, Date.now, 'idle');
    expect((await changesOf('acme')).at(-1)).toEqual(['partner delete', 'acme', { keys: [keyId], grants: 2 }]);
    const { lines, total } = await reportUsage(made.database, Date.now, 3);
    expect(lines.map(({ subject, requests }) => [subject.name, subject.deletedAt !== null, requests])).toEqual([
      ['acme', true, 7],
    ]);
    expect(total.requests).toBe(7);
  });

  test('leaves nothing to a new partner of the same name', async () => {
    const { partner: old } = (await directory.findByKey(key)) ?? {};
    await storeUsage(made.database, { day: dayOf(Date.now()), key_id: keyId, requests: 7 });
    await setPartner(made.database, Date.now, 'acme', { requestsPerMinute: 5 });
    await deletePartner(made.database, Date.now, 'acme');
    await createPartner(made.database, Date.now, 'acme', { everything: false });
    const later = await issueKey(made.database, Date.now, 'acme', TEST_KEY);
    const again = (await directory.findByKey(later.key))?.partner;
    expect(again?.id).not.toBe(old?.id);
    expect(await getPartner(made.database, Date.now, 'acme')).toMatchObject({
      ...{ requestsPerMinute: null, everythingSince: null, leadEntityCount: 0, coopCount: 0, activeKeyCount: 1 },
    });
    expect((await listKeys(made.database, Date.now, 'acme')).map(({ id }) => id)).toEqual([later.details.id]);
    expect((await reportUsageOf(made.database, Date.now, 3, 'acme')).total.requests).toBe(0);
    expect(await directory.findByKey(key)).toBeNull();
    // As often as an operator likes.
    await deletePartner(made.database, Date.now, 'acme');
    await createPartner(made.database, Date.now, 'acme', { everything: false });
  });
});
