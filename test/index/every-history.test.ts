import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Scope } from '../../src/access/scope.ts';
import type { OpenDatabase } from '../../src/database/database.ts';
import { hasAny, type Condition } from '../../src/index/conditions.ts';
import { RecordIndex } from '../../src/index/record-index.ts';
import { SetCache } from '../../src/index/block-query.ts';
import { readBatch } from '../../src/paging/batch.ts';
import { conditionsOf, indexedListing, MAX_PAGE_BYTES, type ListedRecords } from '../../src/paging/pages.ts';
import type { Snapshots } from '../../src/paging/snapshots.ts';
import { CertificationList } from '../../src/resources/certifications/certification-list.ts';
import { contractFilters, listedContracts } from '../../src/resources/contracts/contracts.ts';
import { listedSolicitations, solicitationFilters } from '../../src/resources/solicitations/solicitations.ts';
import { listedSuppliers, supplierFilters } from '../../src/resources/suppliers/suppliers.ts';
import type { Filters } from '../model/model.ts';
import { createTestDatabase } from '../support/database.ts';
import { expectLocalChanges, expectWholeIndex, type StoredIndex } from '../support/schema/index-rows.ts';
import { publishLines, type ImportLines } from '../support/publishing.ts';
import { allOf, apply, differing, recordsOf, startingLines } from '../support/records/edited-lines.ts';
import { numberOfRuns } from '../support/runs.ts';
import { imports, questions, SERVICES, type Question } from './histories.ts';
import { readFor, snapshotsOf, takeSnapshot } from '../support/snapshots.ts';
import { PlainCatalog, type PlainSince } from './plain-catalog.ts';
import { INDEXED_KINDS, type IndexedKind } from '../../src/kinds.ts';

/** Grants are either older or newer than every `updated_since` here. */
const OLD = '2020-01-01T00:00:00.000Z';
const SINCE = '2025-01-01T00:00:00.000Z';
const NEW = '2026-01-01T00:00:00.000Z';

const scopeOf = (
  everythingSince: string | null,
  leadEntities: readonly [string, string][] = [],
  coops: readonly [string, string][] = [],
): Scope => ({ everythingSince, leadEntities: new Map(leadEntities), coops: new Map(coops) });

const SCOPES = [
  scopeOf(OLD),
  scopeOf(null, [['le_a', OLD]]),
  scopeOf(null, [], [['co_x', NEW]]),
  scopeOf(null, [['le_b', NEW], ['le_c', OLD]], [['co_y', OLD]]), // prettier-ignore
  scopeOf(null),
];

const LISTED: Record<IndexedKind, ListedRecords> = {
  suppliers: listedSuppliers,
  contracts: listedContracts,
  solicitations: listedSolicitations,
};

/** Lists and counts as the service does, with its own index. */
class Reader {
  readonly #database: OpenDatabase;
  readonly #snapshots: Snapshots;
  readonly #indexes: Record<IndexedKind, RecordIndex>;
  /** Cursors of earlier pages, whose records may have moved or been removed since. */
  readonly heldCursors = new Map<Question, string>();

  constructor(database: OpenDatabase, cacheBytes: number) {
    const sets = new SetCache(cacheBytes);
    const indexOf = (kind: IndexedKind): RecordIndex => new RecordIndex(kind, sets);
    this.#database = database;
    this.#snapshots = snapshotsOf(database);
    this.#indexes = {
      suppliers: indexOf('suppliers'),
      contracts: indexOf('contracts'),
      solicitations: indexOf('solicitations'),
    };
  }

  /** The conditions of a list or count, by the service's own filters. */
  async conditionsOf(
    kind: IndexedKind,
    scope: Scope,
    { certifications, ...others }: Filters,
    since: PlainSince | null,
  ): Promise<readonly Condition[]> {
    const filters = {
      suppliers: supplierFilters(new CertificationList()),
      contracts: contractFilters,
      solicitations: solicitationFilters,
    };
    const index = this.#indexes[kind];
    const values = { ...others, updated_since: since?.from };
    const snapshot = await takeSnapshot(this.#database, 1, scope);
    return [
      ...(certifications === undefined ? [] : [hasAny('certification', [certifications])]),
      ...(await conditionsOf(filters[kind], values)({ index, snapshot, since, now: NEW })),
    ];
  }

  /** The ids of all pages from a cursor on, and the cursor of the first of them. */
  async list(
    kind: IndexedKind,
    scope: Scope,
    conditions: readonly Condition[],
    limit: number,
    cursor: string | null = null,
  ): Promise<{ ids: string[]; next: string | null }> {
    const listing = indexedListing(this.#indexes[kind], LISTED[kind], () => Promise.resolve(conditions));
    const ids: string[] = [];
    let next: string | null = null;
    for (let after = cursor; ;) {
      const wanted = { since: null, after, limit, now: NEW, maxBytes: MAX_PAGE_BYTES };
      const { result } = await readFor(this.#snapshots, scope, (snapshot) => readBatch(snapshot, listing, wanted));
      const { bytes, count, last_key, hasMore } = result;
      const lines = Buffer.from(bytes).toString().split('\n').slice(0, -1);
      const page = lines.map((line) => JSON.parse(line) as { id: string });
      expect([page.length, page.at(-1)?.id ?? null]).toEqual([count, last_key]);
      ids.push(...page.map(({ id }) => id));
      if (!hasMore) return { ids, next };
      expect(page).toHaveLength(limit);
      after = last_key;
      next ??= last_key;
    }
  }

  async count(kind: IndexedKind, scope: Scope, conditions: readonly Condition[]): Promise<number> {
    const index = this.#indexes[kind];
    return (await readFor(this.#snapshots, scope, (snapshot) => index.count(snapshot, conditions))).result;
  }
}

async function expectSameAsPlain(
  database: OpenDatabase,
  cached: Reader,
  plain: PlainCatalog,
  asked: readonly Question[],
  release: number,
): Promise<void> {
  const fresh = new Reader(database, 64 * 1024 * 1024);
  for (const question of asked) {
    const { kind, filters, limit, sinceLast } = question;
    const scope = SCOPES[question.scope] ?? scopeOf(null);
    const since: PlainSince | null = sinceLast === null ? null : { release: release - sinceLast, from: SINCE };
    const conditions = await fresh.conditionsOf(kind, scope, filters, since);
    const expected = plain.list(kind, scope, filters, since);
    const what = JSON.stringify(question);
    expect(await cached.count(kind, scope, conditions), what).toBe(expected.length);
    const held = cached.heldCursors.get(question) ?? null;
    const continued = await cached.list(kind, scope, conditions, limit, held);
    expect(continued.ids, `${what} behind ${held}`).toEqual(expected.filter((id) => held === null || id > held));
    const listed = await cached.list(kind, scope, conditions, limit);
    expect(listed.ids, what).toEqual(expected);
    if (listed.next !== null) cached.heldCursors.set(question, listed.next);
    expect((await fresh.list(kind, scope, conditions, 100)).ids, what).toEqual(expected);
    expect(await fresh.count(kind, scope, conditions), what).toBe(expected.length);
  }
}

async function wholeIndexes(database: OpenDatabase, blockSize: number): Promise<Record<IndexedKind, StoredIndex>> {
  return {
    suppliers: await expectWholeIndex(database, 'suppliers', blockSize),
    contracts: await expectWholeIndex(database, 'contracts', blockSize),
    solicitations: await expectWholeIndex(database, 'solicitations', blockSize),
  };
}

function keysIn(files: ImportLines, kind: IndexedKind): string[] {
  return (files[kind] ?? []).map((line) => (line as { id: string }).id);
}

test('after any sequence of imports, the index equals one built from the records, and fresh and cached readers return what plain filters return', async () => {
  await fc.assert(
    fc.asyncProperty(
      imports,
      fc.tuple(
        ...INDEXED_KINDS.map((kind) => fc.array(questions(kind, SCOPES.length), { minLength: 6, maxLength: 6 })),
      ),
      fc.integer({ min: 4, max: 16 }),
      // A cache for the sets of a few terms, or of all.
      fc.constantFrom(10_000, 64 * 1024 * 1024),
      async (history, asked, blockSize, cacheBytes) => {
        await using made = await createTestDatabase();
        const { database } = made;
        const plain = new PlainCatalog();
        const cached = new Reader(database, cacheBytes);
        let lines = startingLines(SERVICES);
        let release = 1;
        await publishLines(database, allOf(lines), { blockSize });
        plain.publish(await recordsOf(lines, ''), release);
        let before = await wholeIndexes(database, blockSize);
        for (const { edits, isWhole } of history) {
          const edited = edits.reduce(apply, structuredClone(lines));
          release += 1;
          // No record names it, so something is published in any case.
          edited.coops.set('co_last', { id: 'co_last', name: String(release) });
          const files = isWhole ? allOf(edited) : differing(lines, edited);
          await publishLines(database, files, { blockSize, replace: isWhole, allowRemovals: true });
          lines = edited;
          plain.publish(await recordsOf(lines, ''), release);
          const after = await wholeIndexes(database, blockSize);
          for (const kind of INDEXED_KINDS) expectLocalChanges(before[kind], after[kind], keysIn(files, kind));
          before = after;
          await expectSameAsPlain(database, cached, plain, asked.flat(), release);
        }
      },
    ),
    // Shrinking a history takes minutes.
    { numRuns: numberOfRuns({ usually: 3, nightly: 8 }), endOnFailure: true },
  );
}, 180_000);
