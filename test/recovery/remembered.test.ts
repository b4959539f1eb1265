import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { issueKey } from '../../src/access/key-admin.ts';
import { inTransaction } from '../../src/database/database.ts';
import { forEachTest } from '../support/lifetimes.ts';
import { SMALL_CATALOG, withImportDirectory } from '../support/publishing.ts';
import { startService } from '../support/service.ts';
import { changeStored } from '../support/stored-catalog.ts';

const PATHS = ['/v1/contracts', '/v1/contracts?q=ctr', '/v1/contracts/ctr_1'];

const service = forEachTest(() =>
  withImportDirectory(SMALL_CATALOG, (directory) =>
    startService({ directories: [directory], clock: Date.now, partners: [{ name: 'all', everything: true }] }),
  ),
);

/** Simulates what `pds serve` sees if the last change was lost, and replaced by another, between two polls. */
async function replaceLastChange(revokedKeyId: string): Promise<void> {
  await changeStored(service.database, async ({ kysely }) => {
    await kysely
      .updateTable('catalog.contracts')
      .set({ document: sql<string>`replace(document, 'Contract ctr_1', 'Contract replaced')` })
      .where('id', '=', 'ctr_1')
      .execute();
  });
  await inTransaction(service.database, async (transaction) => {
    const { kysely } = transaction;
    await sql`update access.events set token = 'another'
      where at = (select max(at) from access.events)`.execute(kysely);
    await kysely.updateTable('access.keys').set({ revoked_at: 'now' }).where('id', '=', revokedKeyId).execute();
  });
}

test('a cached key and a cached response are dropped if another change reuses the timestamp of theirs', async () => {
  const { key } = service.partner('all');
  const revoked = await issueKey(service.database, Date.now, 'all', { environment: 'test', lifetimeMs: null });
  await service.noticeChanges();
  expect((await service.get('/v1/contracts', { key: revoked.key })).status).toBe(200);
  for (const path of [...PATHS, ...PATHS]) expect((await service.get(path, { key })).body).toContain('Contract ctr_1');
  await replaceLastChange(revoked.details.id);
  await service.noticeChanges();

  expect((await service.get('/v1/contracts', { key: revoked.key })).status).toBe(401);
  for (const path of PATHS) expect((await service.get(path, { key })).body).toContain('Contract replaced');
});
