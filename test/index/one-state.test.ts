import { sql } from 'kysely';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Scope } from '../../src/access/scope.ts';
import type { OpenDatabase } from '../../src/database/database.ts';
import { timestampOf } from '../../src/database/revision.ts';
import { openForServing } from '../../src/database/open.ts';
import { hasWords } from '../../src/index/conditions.ts';
import { RecordIndex } from '../../src/index/record-index.ts';
import { SetCache } from '../../src/index/block-query.ts';
import { readBatch } from '../../src/paging/batch.ts';
import { indexedListing, MAX_PAGE_BYTES } from '../../src/paging/pages.ts';
import { listedContracts } from '../../src/resources/contracts/contracts.ts';
import { listedSolicitations } from '../../src/resources/solicitations/solicitations.ts';
import { createTestDatabase, databaseForAllTests } from '../support/database.ts';
import { hooked } from '../support/hooked.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { contract, publishLines, SMALL_CATALOG, solicitation } from '../support/publishing.ts';
import { readFor, snapshotsOf } from '../support/snapshots.ts';
import { changeStored } from '../support/stored-catalog.ts';

const RECORDS = 60;
const NOW = '2026-01-01T00:00:00.000Z';
const SCOPE: Scope = { everythingSince: '2020-01-01T00:00:00.000Z', leadEntities: new Map(), coops: new Map() };
const conditions = hasWords('common');
const numbers = [...Array(RECORDS).keys()];
const idOf = (number: number): string => `sol_${String(number).padStart(3, '0')}`;

/** In each version, different records and a different number of them have the word. */
const isCommon = (number: number, version: number): boolean => (number * 7 + version * 3) % 5 < (version % 4) + 1;
const idsIn = (version: number): string[] => numbers.filter((number) => isCommon(number, version)).map(idOf);

let version = 0;
/** The version in each catalog. */
const versions = new Map<string, number>();

async function publishNext(): Promise<void> {
  version += 1;
  const solicitations = numbers.map((number) => ({
    ...solicitation(idOf(number), number + 1),
    title: `Version ${version}`,
    description: isCommon(number, version) ? 'common' : 'rare',
  }));
  await publishLines(made.database, { solicitations }, { blockSize: 4 });
  const { snapshot } = await readFor(snapshotsOf(serving), SCOPE, () => null);
  versions.set(snapshot.catalog, version);
}

const openIndex = (): RecordIndex => new RecordIndex('solicitations', new SetCache(1_000_000));

const made = databaseForAllTests();
const serving = forAllTests(() => openForServing(made.config));
beforeAll(async () => {
  await publishLines(made.database, { ...SMALL_CATALOG, solicitations: [] });
  await publishNext();
}, 60_000);

/** The statements to import after: none, one, and several. */
const MOMENTS = [[], [1], [2], [3], [1, 2], [1, 2, 3], [1, 3, 5]];

test.each(MOMENTS.map((moments) => ({ moments })))(
  'a page and a count reflect one version, even if others are published after the statements $moments',
  async ({ moments }) => {
    let statements = Infinity;
    const publishing = hooked(serving, {
      after: async () => {
        statements += 1;
        if (moments.includes(statements)) await publishNext();
      },
    });
    const whilePublishing = <T>(read: () => Promise<T>): Promise<T> => {
      statements = 0;
      return read().finally(() => (statements = Infinity));
    };
    const snapshots = snapshotsOf(publishing);
    const cached = openIndex();
    const listing = indexedListing(cached, listedSolicitations, () => Promise.resolve(conditions));
    const read = (after: string | null, limit: number) =>
      readFor(snapshots, SCOPE, (snapshot) =>
        readBatch(snapshot, listing, { since: null, after, limit, now: NOW, maxBytes: MAX_PAGE_BYTES }),
      );
    // Caches sets of the previous version, and of only the first blocks.
    await read(null, 100);
    await publishNext();
    await read(null, 2);

    for (const [after, limit] of [
      [null, 100],
      [idOf(20), 100],
      [idOf(21), 5],
    ] as const) {
      const from = version;
      const { result, snapshot } = await whilePublishing(() => read(after, limit));
      const { bytes, hasMore } = result;
      const seen = versions.get(snapshot.catalog) ?? 0;
      const lines = Buffer.from(bytes).toString().split('\n').slice(0, -1);
      const page = lines.map((line) => JSON.parse(line) as { id: string; title: string });
      const expected = idsIn(seen).filter((id) => after === null || id > after);
      expect(seen).toBeGreaterThanOrEqual(from);
      expect(page.map(({ id }) => id)).toEqual(expected.slice(0, limit));
      expect(new Set(page.map(({ title }) => title))).toEqual(new Set([`Version ${seen}`]));
      expect(hasMore).toBe(expected.length > limit);

      // An index with an empty cache, and one with a filled cache.
      for (const index of [openIndex(), cached]) {
        const counted = await whilePublishing(() =>
          readFor(snapshots, SCOPE, (current) => index.count(current, conditions)),
        );
        expect(counted.result).toBe(idsIn(versions.get(counted.snapshot.catalog) ?? 0).length);
      }
    }
  },
);

test('other requests are handled while very many blocks are read', async () => {
  await using other = await createTestDatabase();
  await using reading = openForServing(other.config);
  const solicitations = Array.from({ length: 800 }, (_, number) => solicitation(`s${number}`, number + 1));
  await publishLines(other.database, { ...SMALL_CATALOG, solicitations }, { blockSize: 2 });
  let ticks = 0;
  let isCounted = false;
  const tick = (): void => {
    ticks += 1;
    if (!isCounted) setImmediate(tick);
  };
  setImmediate(tick);
  const { result: total } = await readFor(snapshotsOf(reading), SCOPE, (snapshot) =>
    openIndex().count(snapshot, hasWords('paving')),
  );
  isCounted = true;
  expect(total).toBe(800);
  expect(ticks).toBeGreaterThan(2);
}, 60_000);

describe('a page whose texts exceed 8 MiB', () => {
  const ids = Array.from({ length: 12 }, (_, number) => `ctr_${number + 10}`);
  const read = (database: OpenDatabase) => {
    const index = new RecordIndex('contracts', new SetCache(1_000_000));
    const listing = indexedListing(index, listedContracts, () => Promise.resolve([]));
    const wanted = { since: null, after: null, limit: 100, now: NOW, maxBytes: MAX_PAGE_BYTES };
    return readFor(snapshotsOf(database), SCOPE, (snapshot) => readBatch(snapshot, listing, wanted));
  };

  const large = databaseForAllTests();
  const open = forAllTests(() => openForServing(large.config));
  beforeAll(async () => {
    await publishLines(large.database, { ...SMALL_CATALOG, contracts: ids.map(contract) });
    const text = `"name":"${'x'.repeat(1_000_000)}Contract`;
    await changeStored(large.database, ({ kysely }) =>
      sql`update catalog.contracts set document = replace(document, '"name":"Contract', ${text})`.execute(kysely),
    );
    open.catalogFiles?.attachCurrent();
  }, 60_000);

  test.each(['sizes of contracts', 'contracts by list', 'contracts by range'])(
    'is read from the primary if a replica lags behind at the statement "%s"',
    async (lagging) => {
      const replica = openForServing(made.config);
      let reads = 0;
      let isBypassed = false;
      const serverFor = (statementKey: string): OpenDatabase => {
        const isLagging = statementKey === lagging && !isBypassed;
        if (isLagging) reads += 1;
        return isLagging ? replica : open;
      };
      const replicated: OpenDatabase = {
        ...open,
        run: (...statement) => serverFor(statement[0]).run(...statement),
        readTexts: (...statement) => serverFor(statement[0]).readTexts(...statement),
        bypassReplicas: () => (isBypassed = true),
      };
      const { last_key, count, hasMore } = (await read(replicated)).result;
      await replica.close();
      expect({ last_key, count, hasMore, reads }).toEqual({ last_key: ids[7], count: 8, hasMore: true, reads: 1 });
    },
  );

  test('an earlier catalog is taken from the primary only, which has lost the later one', async () => {
    const sources: unknown[] = [];
    let isLost = false;
    const switched: OpenDatabase = {
      ...open,
      run: (...statement) => {
        sources.push(statement[3]);
        return (isLost ? serving : open).run(...statement);
      },
      bypassReplicas: () => sources.push('bypassed'),
    };
    const snapshots = snapshotsOf(switched);
    const later = (await readFor(snapshots, SCOPE, () => null)).snapshot.catalog;
    isLost = true;
    sources.length = 0;
    const earlier = (await readFor(snapshots, SCOPE, () => null)).snapshot.catalog;
    expect(timestampOf(earlier) < timestampOf(later)).toBe(true);
    expect(sources).toEqual(['any', 'bypassed', 'primary', 'primary', 'primary']);
    expect((await readFor(snapshots, SCOPE, () => null)).snapshot.catalog).toBe(earlier);
  });

  test('a catalog that one replica has is read from the primary if the next replica lags behind', async () => {
    let statements = 0;
    const replicated: OpenDatabase = {
      ...open,
      run: (...statement) => {
        statements += 1;
        return (statements === 1 || statement[3] === 'primary' ? open : serving).run(...statement);
      },
    };
    const { catalog } = (await readFor(snapshotsOf(replicated), SCOPE, () => null)).snapshot;
    expect(catalog).toBe((await readFor(snapshotsOf(open), SCOPE, () => null)).snapshot.catalog);
  });

  test('fails at once, naming the damage, if the index names records that are not stored', async () => {
    const statements: string[] = [];
    const watched = hooked(open, { before: (statementKey) => statements.push(statementKey) });
    await changeStored(large.database, ({ kysely }) => sql`delete from catalog.contracts`.execute(kysely));
    open.catalogFiles?.attachCurrent();
    await expect(read(watched)).rejects.toThrow('the index names 12 records that are not stored');
    // The first attempt has shown the catalog.
    expect(statements.filter((name) => name === 'index blocks')).toHaveLength(2);
  });
});
