import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Scope } from '../../src/access/scope.ts';
import type { OpenDatabase } from '../../src/database/database.ts';
import { firstRow } from '../../src/database/statement.ts';
import { openForServing } from '../../src/database/open.ts';
import { hasWords, Visibility } from '../../src/index/conditions.ts';
import { RecordIndex } from '../../src/index/record-index.ts';
import { OtherStateError } from '../../src/index/statements.ts';
import { SetCache } from '../../src/index/block-query.ts';
import { seenEvents } from '../../src/paging/one-state.ts';
import { indexedListing, readPage } from '../../src/paging/pages.ts';
import { listedContracts } from '../../src/resources/contracts/contracts.ts';
import { listedSolicitations } from '../../src/resources/solicitations/solicitations.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { contract, publishLines, SMALL_CATALOG, solicitation } from '../support/publishing.ts';
import { readFor } from './reading.ts';
import { changeStored } from '../support/stored-catalog.ts';

const RECORDS = 60;
const NOW = '2026-01-01T00:00:00.000Z';
const SCOPE: Scope = {
  ...{ everythingSince: '2020-01-01T00:00:00.000Z', leadEntities: new Map(), coops: new Map() },
};
const having = (q: string) => [new Visibility('solicitations').in(SCOPE), ...hasWords(q)];
const conditions = having('common');
const numbers = [...Array(RECORDS).keys()];
const idOf = (number: number): string => `sol_${String(number).padStart(3, '0')}`;

/** In each version, different records and a different number of them have the word. */
const isCommon = (number: number, version: number): boolean => (number * 7 + version * 3) % 5 < (version % 4) + 1;
const idsIn = (version: number): string[] => numbers.filter((number) => isCommon(number, version)).map(idOf);

let made: TestDatabase;
let serving: OpenDatabase;
let version = 0;
/** The version in each state of the catalog. */
const versions = new Map<string, number>();

async function publishNext(): Promise<void> {
  version += 1;
  const solicitations = numbers.map((number) => ({
    ...solicitation(idOf(number), number + 1),
    title: `Version ${version}`,
    description: isCommon(number, version) ? 'common' : 'rare',
  }));
  await publishLines(made.database, { solicitations }, { blockSize: 4 });
  const { catalog } = await openIndex(serving).count(conditions);
  versions.set(catalog, version);
}

const openIndex = (database: OpenDatabase): RecordIndex =>
  new RecordIndex(database, 'solicitations', new SetCache(1_000_000));

/** The same database, with an import after the statements whose numbers are in `statementNumbers`. */
function publishingAfter(database: OpenDatabase): {
  database: OpenDatabase;
  statementNumbers: Set<number>;
  restart(): void;
} {
  const statementNumbers = new Set<number>();
  let statements = 0;
  return {
    statementNumbers,
    restart: () => (statements = 0),
    database: {
      ...database,
      async run(statementKey, build, values, source) {
        const rows = await database.run(statementKey, build, values, source);
        statements += 1;
        if (statementNumbers.has(statements)) await publishNext();
        return rows;
      },
    },
  };
}

beforeAll(async () => {
  made = await createTestDatabase();
  serving = openForServing(made.config);
  await publishLines(made.database, { ...SMALL_CATALOG, solicitations: [] });
  await publishNext();
}, 60_000);
afterAll(async () => {
  await serving.close();
  await made.drop();
});

/** The statements to import after: none, one, and several. */
const MOMENTS = [[], [1], [2], [3], [1, 2], [1, 2, 3], [1, 3, 5]];

test.each(MOMENTS.map((moments) => ({ moments })))(
  'a page and a count reflect one version, even if others are published after the statements $moments',
  async ({ moments }) => {
    const publishing = publishingAfter(serving);
    const cached = openIndex(publishing.database);
    const listing = indexedListing(cached, listedSolicitations, () => Promise.resolve(conditions));
    const read = (after: string | null, limit: number) =>
      readFor(publishing.database, SCOPE, {
        forget: () => listing.forget?.(),
        read: (partner) => readPage(publishing.database, listing, partner, { since: null, after, limit, now: NOW }),
      });
    // Caches sets of the previous version, and of only the first blocks.
    await read(null, 100);
    await publishNext();
    await read(null, 2);

    for (const [after, limit] of [
      [null, 100],
      [idOf(20), 100],
      [idOf(21), 5],
    ] as const) {
      // prettier-ignore
      publishing.restart();
      for (const moment of moments) publishing.statementNumbers.add(moment);
      const from = version;
      const { data, hasMore, catalog } = (await read(after, limit)).row;
      publishing.statementNumbers.clear();
      const seen = versions.get(catalog) ?? 0;
      const page = JSON.parse(`[${data ?? ''}]`) as { id: string; title: string }[];
      const expected = idsIn(seen).filter((id) => after === null || id > after);
      expect(seen).toBeGreaterThanOrEqual(from);
      expect(page.map(({ id }) => id)).toEqual(expected.slice(0, limit));
      expect(new Set(page.map(({ title }) => title))).toEqual(new Set([`Version ${seen}`]));
      expect(hasMore).toBe(expected.length > limit);

      // An index with an empty cache, and one with a filled cache.
      for (const index of [openIndex(publishing.database), cached]) {
        publishing.restart();
        for (const moment of moments) publishing.statementNumbers.add(moment);
        const { row } = await readFor(publishing.database, SCOPE, {
          forget: () => index.forget(),
          read: async () => {
            const { catalog, total } = await index.count(conditions);
            const seen = firstRow(await publishing.database.run('seen events', () => seenEvents, { partner_id: 1 }));
            if (seen.catalog !== catalog) throw new OtherStateError();
            return { ...seen, total };
          },
        });
        publishing.statementNumbers.clear();
        expect(row.total).toBe(idsIn(versions.get(row.catalog) ?? 0).length);
      }
    }
  },
);

test('other requests are handled while very many blocks are read', async () => {
  const other = await createTestDatabase();
  const reading = openForServing(other.config);
  try {
    const solicitations = Array.from({ length: 800 }, (_, number) => solicitation(`s${number}`, number + 1));
    await publishLines(other.database, { ...SMALL_CATALOG, solicitations }, { blockSize: 2 });
    let ticks = 0;
    let isCounted = false;
    const tick = (): void => {
      ticks += 1;
      if (!isCounted) setImmediate(tick);
    };
    setImmediate(tick);
    const { total } = await openIndex(reading).count(having('paving'));
    isCounted = true;
    expect(total).toBe(800);
    expect(ticks).toBeGreaterThan(2);
  } finally {
    await reading.close();
    await other.drop();
  }
}, 60_000);

describe('a page whose texts exceed 8 MiB', () => {
  const ids = Array.from({ length: 12 }, (_, number) => `ctr_${number + 10}`);
  const read = (database: OpenDatabase) => {
    const index = new RecordIndex(database, 'contracts', new SetCache(1_000_000));
    const listing = indexedListing(index, listedContracts, () => Promise.resolve([]));
    return readFor(database, SCOPE, {
      forget: () => listing.forget?.(),
      read: (partner) => readPage(database, listing, partner, { since: null, after: null, limit: 100, now: NOW }),
    });
  };
  let large: TestDatabase;
  let open: OpenDatabase;

  beforeAll(async () => {
    large = await createTestDatabase();
    open = openForServing(large.config);
    await publishLines(large.database, { ...SMALL_CATALOG, contracts: ids.map(contract) });
    const text = `"name":"${'x'.repeat(1_000_000)}Contract`;
    await changeStored(large.database, ({ kysely }) =>
      sql`update catalog.contracts set document = replace(document, '"name":"Contract', ${text})`.execute(kysely),
    );
    open.catalogFiles?.attachCurrent();
  }, 60_000);
  afterAll(async () => {
    await open.close();
    await large.drop();
  });

  test.each(['sizes of contracts', 'contracts page'])(
    'is read from the primary if a replica lags behind at the statement "%s"',
    async (lagging) => {
      const replica = openForServing(made.config);
      let reads = 0;
      let isBypassed = false;
      const replicated: OpenDatabase = {
        ...open,
        run: (statementKey, build, values, source) => {
          const isLagging = statementKey === lagging && !isBypassed;
          if (isLagging) reads += 1;
          return (isLagging ? replica : open).run(statementKey, build, values, source);
        },
        bypassReplicas: () => (isBypassed = true),
      };
      const { last_key, record_count, hasMore } = (await read(replicated)).row;
      await replica.close();
      expect({ last_key, record_count, hasMore, reads }).toEqual({
        last_key: ids[7],
        record_count: 8,
        hasMore: true,
        reads: 2,
      });
    },
  );

  test('fails at once, naming the damage, if the index names records that are not stored', async () => {
    const statements: string[] = [];
    const watched: OpenDatabase = {
      ...open,
      run: (statementKey, build, values, source) => {
        statements.push(statementKey);
        return open.run(statementKey, build, values, source);
      },
    };
    await changeStored(large.database, ({ kysely }) => sql`delete from catalog.contracts`.execute(kysely));
    open.catalogFiles?.attachCurrent();
    await expect(read(watched)).rejects.toThrow('the index names 12 records that are not stored');
    expect(statements.filter((name) => name === 'index blocks')).toHaveLength(1);
  });
});
