import { expect, test } from 'vitest';
import { listAuditEntries } from '../../src/database/audit.ts';
import { readTimeline, readRecordedTimeline, recordLoss } from '../../src/database/postgres/timeline.ts';
import { readTraces, recover } from '../../src/recovery/recover.ts';
import { callPds } from '../commands/call-pds.ts';
import { databaseForEachTest } from '../support/database.ts';
import { publishLines } from '../support/publishing.ts';

const made = databaseForEachTest();

test('commands warn that the server is on another timeline until pds recover has been run', async () => {
  const { database, settings } = made;
  await recover(database, { clock: Date.now });
  expect(await readRecordedTimeline(database)).toBe(await readTimeline(database));
  expect((await callPds(['partner', 'list'], settings)).stderr).toBe('');

  await database.kysely
    .updateTable('access.settings')
    .set({ value: 'another' })
    .where('name', '=', 'history')
    .execute();
  const warned = await callPds(['partner', 'list'], settings);
  expect(warned.code).toBe(0);
  expect(warned.stderr).toContain('pds recover');
  // An import does not clear the warning: clients still do not know what was lost before it.
  await publishLines(database, { coops: [{ id: 'co_y', name: 'Coop Y' }] });
  expect((await callPds(['partner', 'list'], settings)).stderr).toContain('pds recover');
  expect((await callPds(['recover', '--yes'], settings)).stderr).not.toContain('warning:');
  expect((await callPds(['partner', 'list'], settings)).stderr).toBe('');
});

test('pds recover --nothing-lost ends the warnings, and no record counts as changed', async () => {
  const { database, settings } = made;
  await publishLines(database, { coops: [{ id: 'co_y', name: 'Coop Y' }] });
  const command = ['recover', '--nothing-lost'];
  const readEvents = () => database.kysely.selectFrom('access.events').selectAll().execute();
  const [before, traces] = [await readEvents(), await readTraces(database)];
  expect((await callPds(command, settings)).stderr).toContain('nothing to do');

  const setting = database.kysely.updateTable('access.settings').where('name', '=', 'history');
  await setting.set({ value: 'another' }).execute();
  await recordLoss(database, '2026-11-21T14:00:00.000Z');
  const { code, stderr } = await callPds(command, settings);
  expect(code).toBe(0);
  expect(stderr).toMatch(
    /^Recorded that the server was promoted.*\nWARNING: a service noticed at 2026-11-21T14:00:00\.000Z that changes are lost/,
  );
  expect((await callPds(['partner', 'list'], settings)).stderr).toBe('');
  expect(await readEvents()).toEqual(before);
  expect((await listAuditEntries(database, Date.now, { days: 1, partner: null })).at(-1)?.action).toBe('promote');
  // Of a recovery by hand afterwards: what the server had when it was promoted.
  expect(await readTraces(database)).toEqual(traces);
});
