import { beforeEach, describe, expect, test } from 'vitest';
import { grant, listGrants, revoke, type Grants } from '../../src/access/grant-admin.ts';
import { issueKey, listKeys, revokeKey, rotateKey } from '../../src/access/key-admin.ts';
import { DEMO_KEY, digestOf } from '../../src/access/keys.ts';
import {
  createPartner,
  getPartner,
  listPartners,
  resumePartner,
  setPartner,
  suspendPartner,
} from '../../src/access/partner-admin.ts';
import { OperatorError } from '../../src/operator-error.ts';
import { databaseForEachTest } from '../support/database.ts';
import { publishLines, SMALL_CATALOG } from '../support/publishing.ts';

const HOUR_MS = 3_600_000;
const NOTHING: Grants = { everything: false, leadEntities: [], coops: [] };

let nowMs: number;
const clock = (): number => nowMs;

const made = databaseForEachTest();
beforeEach(async () => {
  nowMs = Date.parse('2026-06-01T12:00:00.000Z');
  await publishLines(made.database, SMALL_CATALOG, { clock });
  await createPartner(made.database, clock, 'acme', { everything: false });
});

function grantAcme(asked: Partial<Grants>) {
  return grant(made.database, clock, 'acme', { ...NOTHING, ...asked });
}

function revokeAcme(asked: Partial<Grants>) {
  return revoke(made.database, clock, 'acme', { ...NOTHING, ...asked });
}

function issueAcme(lifetimeMs: number | null = null) {
  return issueKey(made.database, clock, 'acme', { environment: 'test', lifetimeMs });
}

/** All rows that define access. */
async function accessRows() {
  const { kysely } = made.database;
  return {
    partners: await kysely.selectFrom('access.partners').selectAll().orderBy('id').execute(),
    grants: await kysely.selectFrom('access.grants').selectAll().orderBy('resource_id').execute(),
    keys: await kysely.selectFrom('access.keys').selectAll().orderBy('id').execute(),
  };
}

describe('a partner', () => {
  test('sees nothing unless it is created with everything', async () => {
    await createPartner(made.database, clock, 'big', { everything: true });
    const partners = await listPartners(made.database, clock);
    expect(partners.map(({ name, everythingSince }) => [name, everythingSince !== null])).toEqual([
      ['acme', false],
      ['big', true],
    ]);
  });

  test('has a name that no other partner has, ignoring case', async () => {
    await expect(createPartner(made.database, clock, 'acme', { everything: false })).rejects.toThrow(OperatorError);
    await expect(createPartner(made.database, clock, 'ACME', { everything: false })).rejects.toThrow('already exists');
  });

  test('has a name that shells and logs need not quote', async () => {
    const before = await accessRows();
    for (const name of ['', ' ', 'a b', 'a/b', '-a', '.a', "a'b", 'é', 'a\n', 'a'.repeat(65), DEMO_KEY]) {
      const created = createPartner(made.database, clock, name, { everything: true });
      await expect(created, name).rejects.toThrow('1 to 64 letters');
    }
    expect(await accessRows()).toEqual(before);
    await createPartner(made.database, clock, 'A'.repeat(64), { everything: false });
  });

  test('that does not exist is named in the error of every change', async () => {
    const changes = [
      grant(made.database, clock, 'nobody', { ...NOTHING, everything: true }),
      revoke(made.database, clock, 'nobody', { ...NOTHING, everything: true }),
      suspendPartner(made.database, clock, 'nobody'),
      setPartner(made.database, clock, 'nobody', { kinds: null }),
      issueKey(made.database, clock, 'nobody', { environment: 'test', lifetimeMs: null }),
      listKeys(made.database, clock, 'nobody'),
      getPartner(made.database, clock, 'nobody'),
    ];
    for (const change of await Promise.allSettled(changes)) {
      expect(change).toMatchObject({
        status: 'rejected',
        reason: { message: expect.stringContaining('"nobody"') as string },
      });
    }
  });

  test('that is suspended again keeps its first suspension timestamp', async () => {
    expect(await suspendPartner(made.database, clock, 'acme')).toBe(true);
    const { suspendedAt } = await getPartner(made.database, clock, 'acme');
    expect(suspendedAt).toMatch(/^2026-06-01T12:00:00\.00\dZ$/);
    nowMs += HOUR_MS;
    expect(await suspendPartner(made.database, clock, 'acme')).toBe(false);
    expect((await getPartner(made.database, clock, 'acme')).suspendedAt).toBe(suspendedAt);
    expect(await resumePartner(made.database, clock, 'acme')).toBe(true);
    expect(await resumePartner(made.database, clock, 'acme')).toBe(false);
    expect((await getPartner(made.database, clock, 'acme')).suspendedAt).toBeNull();
  });

  test('keeps the settings that a change omits', async () => {
    await setPartner(made.database, clock, 'acme', { requestsPerMinute: 5, kinds: ['contracts', 'coops'] });
    await setPartner(made.database, clock, 'acme', { kinds: null });
    expect(await getPartner(made.database, clock, 'acme')).toMatchObject({ requestsPerMinute: 5, kinds: null });
    await setPartner(made.database, clock, 'acme', { requestsPerMinute: null });
    expect(await getPartner(made.database, clock, 'acme')).toMatchObject({ requestsPerMinute: null, kinds: null });
  });
});

describe('a grant', () => {
  test('draws a timestamp later than every earlier release and grant, even if the clock stepped back', async () => {
    nowMs -= 24 * HOUR_MS;
    await grantAcme({ leadEntities: ['le_a'], coops: ['co_x'] });
    await grantAcme({ leadEntities: ['le_b'] });
    const { leadEntities, coops } = await listGrants(made.database, 'acme');
    const published = await made.database.kysely.selectFrom('catalog.releases').select('at').execute();
    const [first, second] = leadEntities.map(({ grantedAt }) => grantedAt);
    expect(coops).toEqual([{ id: 'co_x', name: 'Coop X', grantedAt: first }]);
    expect([published[0]?.at, first, second].toSorted()).toEqual([published[0]?.at, first, second]);
    expect(new Set([published[0]?.at, first, second]).size).toBe(3);
    expect((await made.database.readRevision()).split(' ')[0]).toBe(second);
  });

  test('that already exists changes nothing, and is reported separately from a new one', async () => {
    await grantAcme({ everything: true, leadEntities: ['le_a'] });
    const before = await accessRows();
    nowMs += HOUR_MS;
    const outcome = await grantAcme({ everything: true, leadEntities: ['le_a', 'le_a'] });
    expect(outcome).toEqual({ granted: NOTHING, unchanged: { everything: true, leadEntities: ['le_a'], coops: [] } });
    expect(await accessRows()).toEqual(before);
    expect(await grantAcme({ leadEntities: ['le_a', 'le_b', 'le_b'] })).toEqual({
      granted: { ...NOTHING, leadEntities: ['le_b'] },
      unchanged: { ...NOTHING, leadEntities: ['le_a'] },
    });
  });

  test('of an id missing from the catalog fails with that id, and grants nothing', async () => {
    const before = await accessRows();
    const asked = { everything: true, leadEntities: ['le_a', 'le_z', 'co_x', "'"], coops: ['co_x', 'le_a'] };
    await expect(grantAcme(asked)).rejects.toThrow(
      new OperatorError(
        'not in the catalog: lead entity "le_z", lead entity "co_x", lead entity "\'", coop "le_a". ' +
          'Nothing was granted. Find ids by name with "pds find lead-entity TEXT" or "pds find coop TEXT"',
      ),
    );
    expect(await accessRows()).toEqual(before);
  });

  test('and its revocation accept as many ids as fit on a command line', async () => {
    const ids = Array.from({ length: 20_000 }, (_, i) => `many_${i}`);
    await publishLines(made.database, { coops: ids.map((id) => ({ id, name: id })) }, { clock });
    expect((await grantAcme({ coops: ids })).granted.coops).toHaveLength(ids.length);
    expect((await getPartner(made.database, clock, 'acme')).coopCount).toBe(ids.length);
    await revokeAcme({ coops: ids });
    expect((await getPartner(made.database, clock, 'acme')).coopCount).toBe(0);
  });
});

describe('a revocation', () => {
  test('removes the named grants only', async () => {
    await grantAcme({ everything: true, leadEntities: ['le_a', 'le_b'], coops: ['co_x'] });
    nowMs += HOUR_MS;
    await revokeAcme({ everything: true, leadEntities: ['le_a'] });
    const partner = await getPartner(made.database, clock, 'acme');
    expect(partner).toMatchObject({ everythingSince: null, leadEntityCount: 1, coopCount: 1 });
    expect((await made.database.readRevision()).split(' ')[0]).toBe('2026-06-01T13:00:00.000Z');
  });

  test('of something not granted fails with its name, and revokes nothing', async () => {
    await grantAcme({ leadEntities: ['le_a'] });
    const before = await accessRows();
    await expect(revokeAcme({ everything: true, leadEntities: ['le_a', 'le_b'] })).rejects.toThrow(
      new OperatorError(
        'not granted to "acme": everything, lead entity "le_b". Nothing was revoked. ' +
          '"pds partner show acme" lists its grants. Find ids by name with "pds find lead-entity TEXT"',
      ),
    );
    expect(await accessRows()).toEqual(before);
  });

  test('works for records that the catalog no longer contains', async () => {
    await publishLines(made.database, { coops: [{ id: 'co_gone', name: 'Gone' }] }, { clock });
    await grantAcme({ coops: ['co_gone'] });
    await publishLines(made.database, { coops: [{ id: 'co_gone', deleted: true }] }, { clock });
    expect((await listGrants(made.database, 'acme')).coops).toMatchObject([{ id: 'co_gone', name: null }]);
    await revokeAcme({ coops: ['co_gone'] });
    expect((await listGrants(made.database, 'acme')).coops).toEqual([]);
  });
});

describe('a key', () => {
  test('is stored only as its digest', async () => {
    const { key, details } = await issueAcme(HOUR_MS);
    const { keys } = await accessRows();
    expect(keys).toMatchObject([{ id: details.id, digest: digestOf(key), expires_at: '2026-06-01T13:00:00.000Z' }]);
    expect(JSON.stringify(await accessRows())).not.toContain(key.slice(18));
  });

  test('issued by a rotation has the lifetime of the old key, whose own is shortened', async () => {
    const forever = await issueAcme();
    const hour = await issueAcme(HOUR_MS);
    nowMs += HOUR_MS / 2;
    const first = await rotateKey(made.database, clock, forever.details.id, 24 * HOUR_MS);
    expect(first.issued.details.expiresAt).toBeNull();
    expect(first.replaced).toMatchObject({ state: 'active', expiresAt: '2026-06-02T12:30:00.000Z' });
    const second = await rotateKey(made.database, clock, hour.details.id, 24 * HOUR_MS);
    expect(second.issued.details.expiresAt).toBe('2026-06-01T13:30:00.000Z');
    expect(second.replaced.expiresAt).toBe('2026-06-01T13:00:00.000Z');
    const third = await rotateKey(made.database, clock, second.issued.details.id, 0);
    expect(third.replaced).toMatchObject({ state: 'expired', expiresAt: '2026-06-01T12:30:00.000Z' });
  });

  test.each([
    ['of a year', 365 * 24 * HOUR_MS, '2027-06-01T13:00:00.000Z'],
    ['that never expires', null, null],
  ])('%s passes its original lifetime on, even if it is rotated twice', async (_, lifeMs, end) => {
    const old = await issueAcme(lifeMs);
    const first = await rotateKey(made.database, clock, old.details.id, 24 * HOUR_MS);
    nowMs += HOUR_MS;
    const second = await rotateKey(made.database, clock, old.details.id, 24 * HOUR_MS);
    expect(second.issued.details.expiresAt).toBe(end);
    expect(second.replaced).toMatchObject({
      issuedExpiresAt: old.details.expiresAt,
      replacedBy: second.issued.details.id,
    });
    const third = await rotateKey(made.database, clock, first.issued.details.id, HOUR_MS);
    expect(third.issued.details.expiresAt).toBe(end);
  });

  test('that is rotated again keeps its end, and the active keys that replaced it are named', async () => {
    const old = await issueAcme(48 * HOUR_MS);
    const rotate = async (overlapMs: number) => {
      const { issued, replaced } = await rotateKey(made.database, clock, old.details.id, overlapMs);
      expect(replaced.expiresAt).toBe('2026-06-02T12:00:00.000Z');
      return [issued.details.id, replaced.earlierReplacements.toSorted()] as const;
    };
    const [first, none] = await rotate(24 * HOUR_MS);
    const [second, afterOne] = await rotate(30 * HOUR_MS);
    const [third, afterTwo] = await rotate(0);
    expect([none, afterOne, afterTwo]).toEqual([[], [first], [first, second].toSorted()]);
    await revokeKey(made.database, clock, second);
    expect((await rotate(72 * HOUR_MS))[1]).toEqual([first, third].toSorted());
  });

  test('that is expired or revoked cannot be rotated', async () => {
    const { details } = await issueAcme(HOUR_MS);
    nowMs += HOUR_MS;
    await expect(rotateKey(made.database, clock, details.id, 0)).rejects.toThrow(`key ${details.id} is expired`);
    await revokeKey(made.database, clock, details.id);
    await expect(rotateKey(made.database, clock, details.id, 0)).rejects.toThrow(`key ${details.id} is revoked`);
  });

  test('that is revoked again keeps its first revocation timestamp', async () => {
    const { details } = await issueAcme();
    expect(await revokeKey(made.database, clock, details.id)).toMatchObject({ isChanged: true });
    nowMs += HOUR_MS;
    const again = await revokeKey(made.database, clock, details.id);
    expect(again).toMatchObject({ isChanged: false, key: { state: 'revoked', revokedAt: '2026-06-01T12:00:00.000Z' } });
    expect((await getPartner(made.database, clock, 'acme')).activeKeyCount).toBe(0);
  });

  test('is never repeated in an error, even if it was passed instead of its id', async () => {
    const { key, details } = await issueAcme();
    const given = revokeKey(made.database, clock, key);
    await expect(given).rejects.toThrow(`pass only the public id, ${details.id}`);
    await expect(given).rejects.not.toThrow(key.slice(18));
    await expect(revokeKey(made.database, clock, `${key}x`)).rejects.not.toThrow(key.slice(18));
    await expect(revokeKey(made.database, clock, 'zzzzzzzz')).rejects.toThrow('there is no key zzzzzzzz');
  });
});

test('every change bumps the revision that running servers poll, with a new token', async () => {
  const keyId = (await issueAcme()).details.id;
  const changes = [
    () => createPartner(made.database, clock, 'other', { everything: false }),
    () => grantAcme({ everything: true }),
    () => revokeAcme({ everything: true }),
    () => suspendPartner(made.database, clock, 'acme'),
    () => resumePartner(made.database, clock, 'acme'),
    () => setPartner(made.database, clock, 'acme', { kinds: ['coops'] }),
    () => issueAcme(),
    () => rotateKey(made.database, clock, keyId, HOUR_MS),
    () => revokeKey(made.database, clock, keyId),
  ];
  for (const change of changes) {
    const before = await made.database.readRevision();
    await change();
    expect((await made.database.readRevision()) > before).toBe(true);
  }
});
