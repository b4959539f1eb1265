import { setTimeout as sleep } from 'node:timers/promises';
import { expect, vi } from 'vitest';
import { issueKey } from '../../src/access/key-admin.ts';
import { checkContents } from '../../src/checks/contents.ts';
import type { OpenDatabase } from '../../src/database/database.ts';
import { readLoss } from '../../src/database/postgres/timeline.ts';
import { recordPromotion, recover } from '../../src/recovery/recover.ts';
import { startStandbyPair } from '../support/cluster/standby-pair.ts';
import { testWith } from '../support/installed-programs.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { change, makeLostChanges, makeOtherChanges, readEventTimes } from './lost-changes.ts';

const test = testWith('postgresql');

const pair = forAllTests(startStandbyPair);

test('after a promotion that lost changes, with new ones at the same timestamps, a revoked key is refused within a second and a lost release is not served, the log names the loss, and pds check reports it until pds recover', async () => {
  const { key, client, primary, standby, name, database, service } = pair;
  const { key: revokedKey } = await issueKey(database, Date.now, 'acme', { environment: 'test', lifetimeMs: null });
  await standby.catchUp();
  // The standby is cut off from the primary.
  await standby.query(`alter system set primary_conninfo = ''`);
  await standby.query('select pg_reload_conf()');
  while ((await standby.query('select 1 from pg_stat_wal_receiver')).length > 0) await sleep(20);

  const sameMs = Date.now();
  const lost = await makeLostChanges(database, () => sameMs);
  const lostTimes = await readEventTimes(database);
  const paths = ['/v1/contracts', '/v1/contracts?q=release', '/v1/contracts/ctr_1'];
  for (const path of paths) while (!(await client.get(path, { key })).body.includes('Lost release')) await sleep(20);
  // Now they are cached.
  for (const path of paths) expect((await client.get(path, { key })).body).toContain('Lost release');
  expect((await client.get('/v1/contracts', { key: revokedKey })).status).toBe(200);

  name.cut();
  await primary.kill();
  await standby.query('select pg_promote()');
  const other = await change(standby.url, async (promoted) => {
    const released = await makeOtherChanges(promoted, revokedKey, () => sameMs);
    expect(await readEventTimes(promoted)).toEqual(lostTimes);
    return released;
  });
  expect(other).toBe(lost);
  name.moveTo(standby.port);
  name.thaw();
  for (
    let attempt = 0;
    (await client.get(`/v1/solicitations/count?q=back${attempt}`, { key })).status !== 200;
    attempt += 1
  )
    await sleep(20);
  const connectedAtMs = performance.now();
  while ((await client.get('/v1/contracts', { key: revokedKey })).status !== 401) {
    expect(performance.now() - connectedAtMs, 'a revoked key is good').toBeLessThan(1_000);
    await sleep(20);
  }
  await vi.waitUntil(() => service.output().includes('CHANGES ARE LOST'));

  // A cluster records that nothing was lost, whatever was noticed.
  const loss = await vi.waitUntil(() => readLoss(database));
  expect([loss.since < lost, loss.noticedAt > other]).toEqual([true, true]);
  expect(await recordPromotion(database, Date.now)).toBe(true);
  const seen = await historyOf(database);
  expect(seen).toEqual([expect.stringContaining(`the database lacks some made after ${loss.since}`)]);

  const watermark = new Date(Date.parse(other) + 1).toISOString();
  for (const path of [...paths, ...paths]) {
    const { body, headers } = await client.get(path, { key });
    expect(body).toContain('Other release');
    if (path !== '/v1/contracts/ctr_1') expect(headers['x-sync-watermark']).toBe(watermark);
  }
  await recover(database, { clock: Date.now });
  expect(await historyOf(database)).toEqual([]);
});

/** The findings of `pds check` about the history. */
async function historyOf(database: OpenDatabase): Promise<string[]> {
  const { findings } = await checkContents(database, 'dev', Date.now);
  return findings.filter(({ about }) => about === 'history').map(({ message }) => message);
}
