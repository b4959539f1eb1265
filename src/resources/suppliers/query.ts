import { sql, type RawBuilder } from 'kysely';
import type { Scope } from '../../access/scope.ts';
import type { Database } from '../../database/database.ts';
import { parameter } from '../../database/statement.ts';
import type { Condition } from '../../index/evaluate.ts';
import type { RecordQuery } from '../../paging/send-record.ts';
import { BY_POSITION, type ListedRecords } from '../../paging/page-statement.ts';
import type { Since } from '../../paging/updated-since.ts';
import { hasValue, listConditions, NEVER, type ListFilters } from '../conditions.ts';
import { withUpdatedAt } from '../finished-text.ts';
import { isGrantedSupplier, scopeKey, scopeValues } from '../granted.ts';

export interface SupplierFilters extends ListFilters {
  /** The raw value. */
  readonly certifications?: string;
}

const textWith = (certifications: RawBuilder<string>): RawBuilder<string> =>
  withUpdatedAt(
    sql<string>`supplier.document || ',"certifications":' || ${certifications}`,
    'supplier',
    'changed_publication',
  );

/** Suppliers as listed. */
export const listedSuppliers: ListedRecords = {
  table: 'suppliers',
  alias: 'supplier',
  found: BY_POSITION,
  key: 'id',
  text: textWith(sql<string>`supplier.certifications_preview`),
  bytes: sql<number>`octet_length(supplier.document) + octet_length(supplier.certifications_preview)`,
};

/**
 * Matches the suppliers that a list includes.
 *
 * @param abbreviations of the certifications in the filter; null for an unknown one.
 */
export function supplierConditions(
  scope: Scope,
  filters: SupplierFilters,
  since: Since | null,
  abbreviations: readonly (string | null)[],
): Condition[] {
  return [
    ...listConditions('suppliers', scope, filters, since),
    ...abbreviations.map((held) => (held === null ? NEVER : hasValue('certification', held))),
  ];
}

/** Finds a supplier by ID within the scope. One lookup in the unique index on `id`. */
export function findSupplier({ engine }: Pick<Database, 'engine'>, scope: Scope, id: string): RecordQuery {
  const key = scopeKey(scope);
  return {
    statementKey: `supplier, ${key}`,
    build: () => sql`select ${textWith(sql<string>`supplier.certifications_all`)} as text, null as changes_at
      from catalog.suppliers as supplier
      where supplier.id = ${parameter('id')} and ${isGrantedSupplier(engine, key)}`,
    values: { ...scopeValues(scope), id },
  };
}
