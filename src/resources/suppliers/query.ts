import { sql, type RawBuilder, type SqlBool } from 'kysely';
import type { Scope } from '../../access/scope.ts';
import type { OpenDatabase } from '../../database/database.ts';
import { isInList, slot } from '../../database/statement.ts';
import type { RecordQuery } from '../../paging/answer-record.ts';
import type { WalkPlace } from '../../paging/answer-list.ts';
import { plannedAt } from '../../paging/events.ts';
import type { ListedRecords } from '../../paging/page-statement.ts';
import type { Walk } from '../../paging/snapshot.ts';
import type { SearchPlanner } from '../../search/search-plan.ts';
import type { CertificationNames } from './certification-names.ts';
import { allOf, isFound, type Condition } from '../conditions.ts';
import { withUpdatedAt } from '../finished-text.ts';
import { walkRecords } from '../record-walk.ts';
import { isNewSupplierSince, isVisibleSupplier, scopeValues, shapeOfScope } from '../scope-sql.ts';

export interface SupplierFilters {
  q?: string;
  state?: string;
  /** As it was written. */
  certifications?: string;
  city_service?: string;
  updated_since?: string;
}

const SUPPLIER = { table: 'suppliers', alias: 'supplier' } as const;

const textWith = (certifications: RawBuilder<string>): RawBuilder<string> =>
  withUpdatedAt(
    sql<string>`supplier.document || ',"certifications":' || ${certifications}`,
    'supplier',
    'changed_publication',
  );

/** How suppliers stand in a list. */
export const listedSuppliers: ListedRecords = {
  table: 'suppliers',
  alias: 'supplier',
  position: sql`supplier.number`,
  key: sql<string>`supplier.id`,
  text: textWith(sql<string>`supplier.certifications_preview`),
  bytes: sql<number>`octet_length(supplier.document) + octet_length(supplier.certifications_preview)`,
  changesAt: sql<null>`null`,
};

/**
 * One page of the suppliers that the scope sees. Walks the primary key, and looks each filter up
 * by the primary key of its own table; with `q`, what the search index gives (`search-plan.ts`).
 */
export async function walkSuppliers(
  database: OpenDatabase,
  { planner, names }: { planner: SearchPlanner; names: CertificationNames },
  scope: Scope,
  filters: SupplierFilters,
  { after, upto: asked, earlier, isFresh }: WalkPlace,
): Promise<Walk> {
  const { engine } = database;
  const since = filters.updated_since ?? null;
  const search =
    filters.q === undefined
      ? null
      : await planner.plan({ q: filters.q, marks: [], window: null, isSince: false, hasNewGrants: false, isFresh });
  const named = filters.certifications === undefined ? null : await names.resolve(filters.certifications, isFresh);
  const known = named?.abbreviations.filter((abbreviation) => abbreviation !== null) ?? [];
  const isWhole =
    asked === null || (search?.mode === 'index' && earlier === 1 && (await planner.hasFewMatches(search)));
  const upto = isWhole ? null : asked;
  const shape = {
    ...shapeOfScope(scope, since),
    filters: Object.keys(filters).sort(),
    search: known.length === (named?.abbreviations.length ?? 0) ? (search?.mode ?? ('none' as const)) : 'nothing',
    hasAfter: after !== null,
    hasUpto: upto !== null,
  } as const;
  return {
    shape: `suppliers ${JSON.stringify(shape)}`,
    build: () =>
      walkRecords(engine, SUPPLIER, {
        ...shape,
        conditions: [
          ...filterConditions(database, shape.filters),
          isVisibleSupplier(engine, shape),
          isNewSupplierSince(engine, shape),
        ],
        each: [],
      }),
    values: {
      ...filters,
      ...scopeValues(scope, since),
      ...search?.values,
      certifications: known,
      certification_count: known.length,
      after,
      upto,
    },
    asOf: plannedAt(search, named),
    upto,
  };
}

/** The supplier of this id, if the scope sees it. One look into the unique index on id. */
export function findSupplier({ engine }: OpenDatabase, scope: Scope, id: string): RecordQuery {
  const shape = shapeOfScope(scope, null);
  return {
    shape: `supplier ${JSON.stringify(shape)}`,
    build: () => {
      const isIt = sql<SqlBool>`supplier.id = ${slot('id')}`;
      return sql`select ${textWith(sql<string>`supplier.certifications_all`)} as text, null as changes_at
        from catalog.suppliers as supplier where ${allOf([isIt, isVisibleSupplier(engine, shape)])}`;
    },
    values: { ...scopeValues(scope, null), id },
  };
}

/** What the filters ask of a record, but for `q` and `updated_since`. */
function filterConditions({ engine }: OpenDatabase, filters: readonly string[]): Condition[] {
  const conditions: Readonly<Record<string, Condition>> = {
    state: isFound(sql`select 1 from catalog.supplier_states as served
      where served.state = ${slot('state')} and served.supplier_id = supplier.id`),
    certifications: sql<SqlBool>`(select count(*) from catalog.supplier_certifications as held
      where ${isInList(engine, sql.ref('held.abbreviation'), 'certifications')}
        and held.supplier_id = supplier.id) = ${slot('certification_count')}`,
    city_service: isFound(sql`select 1 from catalog.supplier_city_services as offered
      where offered.city_service_id = ${slot('city_service')} and offered.supplier_id = supplier.id`),
  };
  return filters.flatMap((name) => conditions[name] ?? []);
}
