import { sql } from 'kysely';
import { beforeAll, expect, test } from 'vitest';
import { insertRows } from '../../src/database/rows.ts';
import type { DepartureRow } from '../../src/database/tables.ts';
import { ListedDepartures } from '../../src/paging/departed-records.ts';
import { serviceForAllTests } from '../support/service.ts';
import { takeSnapshot } from '../support/snapshots.ts';
import { changeStored } from '../support/stored-catalog.ts';

/** Release n is event 2 n. */
const RELEASES = [1, 2, 3, 4];
const timestampOf = (event: number): string => new Date(Date.UTC(2026, 0, 1) + event * 1000).toISOString();

const service = serviceForAllTests();
beforeAll(async () => {
  const { database } = service;
  const releases = RELEASES.map((number) => ({ number, at: timestampOf(2 * number) }));
  await changeStored(database, (stored) => insertRows(stored, 'catalog.releases', releases));
});

test.each([
  ['in turns', 1],
  ['one after the other', 600],
])('all departures of 600 owners are found if their ids come %s', async (_, step) => {
  const owners = Array.from({ length: 600 }, (__, index) => `le_${index}`);
  const rows = Array.from({ length: 9_000 }, (__, index): DepartureRow => ({
    ...{ kind: 'contracts', id: `gone_${String(index).padStart(4, '0')}`, release: 2 + (index % 2) },
    owner: `lead_entity:${owners[step === 1 ? index % 600 : Math.floor(index / 15)]}`,
  }));
  await changeStored(service.database, async (stored) => {
    await sql`delete from catalog.departures`.execute(stored.kysely);
    await insertRows(stored, 'catalog.departures', rows);
  });
  const departures = new ListedDepartures(['contracts', 'suppliers'], false);
  const granted = new Map(owners.map((owner) => [owner, timestampOf(0)]));
  const scope = { everythingSince: null, leadEntities: granted, coops: new Map<string, string>() };
  const snapshot = await takeSnapshot(service.database, 1, scope);
  const ids: string[] = [];
  for (let after: string | null | undefined; after !== null;) {
    const found = await departures.find(
      snapshot,
      'contracts',
      { from: timestampOf(4), release: 2 },
      after ?? null,
      700,
    );
    expect(found.ids.length).toBeLessThanOrEqual(700);
    ids.push(...found.ids);
    after = found.until;
  }
  expect(ids).toEqual(rows.map(({ id }) => id));
  expect(departures.areMany).toBe(true);
  // The 5,000 that showed that they are many are read again, and no others.
  expect(departures.examined).toBe(5_000 + rows.length);
});
