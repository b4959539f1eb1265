import fc from 'fast-check';
import { sql } from 'kysely';
import { beforeAll, expect, test } from 'vitest';
import type { Scope } from '../../src/access/scope.ts';
import { insertRows } from '../../src/database/rows.ts';
import type { DepartureRow } from '../../src/database/tables.ts';
import { ListedDepartures } from '../../src/paging/departed-records.ts';
import { serviceForAllTests } from '../support/service.ts';
import { takeSnapshot } from '../support/snapshots.ts';
import { numberOfRuns } from '../support/runs.ts';
import { changeStored } from '../support/stored-catalog.ts';

/** Release n is event 2 n; grants and watermarks are at any event. */
const RELEASES = [1, 2, 3, 4];
const timestampOf = (event: number): string => new Date(Date.UTC(2026, 0, 1) + event * 1000).toISOString();
const KINDS = ['contracts', 'suppliers'] as const;
const OWNERS = ['everything', 'lead_entity:le_a', 'lead_entity:le_b', 'coop:le_a', 'coop:co_x'];

const service = serviceForAllTests();
beforeAll(async () => {
  const { database } = service;
  const releases = RELEASES.map((number) => ({ number, at: timestampOf(2 * number) }));
  await changeStored(database, (stored) => insertRows(stored, 'catalog.releases', releases));
});

async function store(rows: readonly DepartureRow[]): Promise<void> {
  await changeStored(service.database, async (stored) => {
    await sql`delete from catalog.departures`.execute(stored.kysely);
    await insertRows(stored, 'catalog.departures', rows);
  });
}

/** The scope of these grants: owners with the event of each. */
function scopeOf(grants: ReadonlyMap<string, number>): Scope {
  const grantsOf = (facet: string): [string, string][] =>
    [...grants].flatMap(([owner, event]) =>
      owner.startsWith(facet) ? [[owner.slice(facet.length), timestampOf(event)]] : [],
    );
  const everything = grants.get('everything');
  return {
    everythingSince: everything === undefined ? null : timestampOf(everything),
    leadEntities: new Map(grantsOf('lead_entity:')),
    coops: new Map(grantsOf('coop:')),
  };
}

/** The ids of a kind that a listing finds, some at a time. */
async function listAll(
  departures: ListedDepartures,
  kind: DepartureRow['kind'],
  { scope, since, limit }: { scope: Scope; since: number; limit: number },
): Promise<string[]> {
  const changedSince = { from: timestampOf(since), release: Math.ceil(since / 2) };
  const snapshot = await takeSnapshot(service.database, 1, scope);
  const ids: string[] = [];
  let after: string | null = null;
  do {
    const found = await departures.find(snapshot, kind, changedSince, after, limit);
    expect(found.ids.length).toBeLessThanOrEqual(limit);
    ids.push(...found.ids);
    after = found.until;
  } while (after !== null);
  return ids;
}

const storedDepartures = fc.uniqueArray(
  fc.record({
    kind: fc.constantFrom(...KINDS),
    id: fc.constantFrom('a', 'B', 'b', 'b-1', 'b_1', 'c', 'd', 'e', '-', '_', '0'),
    owner: fc.constantFrom(...OWNERS),
    release: fc.constantFrom(...RELEASES),
  }),
  { selector: ({ kind, id, owner }) => `${kind} ${id} ${owner}`, minLength: 10, maxLength: 80 },
);
const event = fc.nat({ max: 9 });
const grants = fc.array(fc.tuple(fc.constantFrom(...OWNERS), event)).map((pairs) => new Map(pairs));

test('few or many, departures are found if their owner was granted before them, in order and each once', async () => {
  await fc.assert(
    fc.asyncProperty(
      storedDepartures,
      grants,
      event,
      fc.integer({ min: 1, max: 4 }),
      async (rows, granted, since, limit) => {
        await store(rows);
        const isReported = ({ owner, release }: DepartureRow): boolean =>
          2 * release >= since && (granted.get(owner) ?? Infinity) < 2 * release;
        for (const areMany of [false, true]) {
          const departures = new ListedDepartures(KINDS, areMany);
          for (const kind of KINDS) {
            const reported = rows.filter((row) => row.kind === kind && isReported(row)).map(({ id }) => id);
            const ids = await listAll(departures, kind, { scope: scopeOf(granted), since, limit });
            expect(ids, areMany ? 'many' : 'few').toEqual([...new Set(reported)].sort());
          }
        }
      },
    ),
    { numRuns: numberOfRuns({ usually: 30, nightly: 100 }), endOnFailure: true },
  );
}, 60_000);

test.each([
  ['in turns', 1],
  ['one after the other', 600],
])('all departures of 600 owners are found if their ids come %s', async (_, step) => {
  const owners = Array.from({ length: 600 }, (__, index) => `lead_entity:le_${index}`);
  const rows = Array.from({ length: 9_000 }, (__, index): DepartureRow => ({
    ...{ kind: 'contracts', id: `gone_${String(index).padStart(4, '0')}`, release: 2 + (index % 2) },
    owner: owners[step === 1 ? index % 600 : Math.floor(index / 15)] ?? '',
  }));
  await store(rows);
  const departures = new ListedDepartures(KINDS, false);
  const scope = scopeOf(new Map(owners.map((owner) => [owner, 0])));
  expect(await listAll(departures, 'contracts', { scope, since: 4, limit: 700 })).toEqual(rows.map(({ id }) => id));
  expect(departures.areMany).toBe(true);
  // The 5,000 that showed that they are many are read again, and no others.
  expect(departures.examined).toBe(5_000 + rows.length);
});
