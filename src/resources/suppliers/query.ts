import { sql, type SqlBool } from 'kysely';
import type { Scope } from '../../access/scope.ts';
import type { Database } from '../../database/database.ts';
import type { PageWindow } from '../../paging/answer-list.ts';
import { holdsWords } from '../../search/search-index.ts';
import { queryWords } from '../../search/words.ts';
import { allOf, given, type Condition } from '../conditions.ts';
import { isNewSupplierSince, isVisibleSupplier } from '../scope-sql.ts';

export interface SupplierFilters {
  q?: string;
  state?: string;
  /** Abbreviations, resolved; null for one that no certification has. */
  certifications?: readonly (string | null)[] | undefined;
  city_service?: string;
  updated_since?: string;
}

/**
 * One page of the suppliers that the scope sees. Walks the unique index on id, and looks each
 * filter up by the primary key of its own table.
 */
export function selectSuppliers(database: Database, scope: Scope, filters: SupplierFilters, window: PageWindow) {
  const { engine } = database;
  return visibleSuppliers(database, scope)
    .where(
      allOf([
        given(window.after, (after) => sql<SqlBool>`supplier.id > ${after}`),
        given(filters.q, (q) => holdsWords(engine, 'suppliers', sql.ref('supplier.number'), queryWords(q))),
        given(
          filters.state,
          (state) => sql<SqlBool>`exists (select 1 from catalog.supplier_states as served
            where served.state = ${state} and served.supplier_id = supplier.id)`,
        ),
        given(filters.certifications, (abbreviations) => allOf(abbreviations.map(holdsCertification))),
        given(
          filters.city_service,
          (id) => sql<SqlBool>`exists (select 1 from catalog.supplier_city_services as offered
            where offered.city_service_id = ${id} and offered.supplier_id = supplier.id)`,
        ),
        given(filters.updated_since, (since) => isNewSupplierSince(engine, scope, since)),
      ]),
    )
    .orderBy('supplier.id')
    .limit(window.rows);
}

/** The supplier of this id, if the scope sees it. One look into the unique index on id. */
export async function findSupplier(database: Database, scope: Scope, id: string) {
  return (await visibleSuppliers(database, scope).where('supplier.id', '=', id).executeTakeFirst()) ?? null;
}

function holdsCertification(abbreviation: string | null): Condition {
  if (abbreviation === null) return sql<SqlBool>`1 = 0`;
  return sql<SqlBool>`exists (select 1 from catalog.supplier_certifications as held
    where held.abbreviation = ${abbreviation} and held.supplier_id = supplier.id)`;
}

function visibleSuppliers({ engine, kysely }: Database, scope: Scope) {
  return kysely
    .selectFrom('catalog.suppliers as supplier')
    .select([
      'supplier.id as key',
      'supplier.document',
      'supplier.certifications_preview',
      'supplier.certifications_all',
    ])
    .select(
      sql<string>`coalesce(supplier.updated_at,
        (select instant from catalog.publications where number = supplier.changed_publication))`.as('updated_at'),
    )
    .where(allOf([isVisibleSupplier(engine, scope)]));
}
