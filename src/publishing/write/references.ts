import { sql } from 'kysely';
import type { Database } from '../../database/database.ts';
import type { CertificationRow, NamedRefRow, Tables } from '../../database/tables.ts';
import { isIndexed, NAMED_REF_KINDS, TABLE_OF, type IndexedKind, type Kind, type NamedRefKind } from '../../kinds.ts';
import type { CertificationRecord } from '../../resources/certifications/fields.ts';

/** The names of single records in problems. */
export const NOUN_OF: Readonly<Record<Kind, string>> = {
  'lead-entities': 'lead entity',
  coops: 'coop',
  'city-services': 'city service',
  certifications: 'certification',
  suppliers: 'supplier',
  contracts: 'contract',
  solicitations: 'solicitation',
};

/** A field with the keys of other records, and where they are stored. */
export interface Reference {
  readonly from: Kind;
  /** Holds a key, a list of keys, or null. */
  readonly field: string;
  readonly to: Kind;
  /** The table with the key in `column`, and the id of the record that has the field in `owner`. */
  readonly table: keyof Tables;
  readonly owner: string;
  readonly column: string;
}

/** A reference in a column of its record's table, or a list in a table of its own with an index on either column. */
function reference(
  from: Kind,
  field: string,
  to: Kind,
  table: keyof Tables = `catalog.${TABLE_OF[from]}`,
  column = field,
): Reference {
  const owner = table === `catalog.${TABLE_OF[from]}` ? 'id' : `${NOUN_OF[from]}_id`;
  return { from, field, to, table, owner, column };
}

export const REFERENCES: readonly Reference[] = [
  reference('suppliers', 'certifications', 'certifications', 'catalog.supplier_certifications', 'abbreviation'),
  reference('suppliers', 'city_service_ids', 'city-services', 'catalog.supplier_city_services', 'city_service_id'),
  reference('contracts', 'lead_entity_id', 'lead-entities'),
  reference('contracts', 'coop_id', 'coops'),
  reference('contracts', 'supplier_ids', 'suppliers', 'catalog.contract_suppliers', 'supplier_id'),
  reference('contracts', 'city_service_ids', 'city-services', 'catalog.contract_city_services', 'city_service_id'),
  reference('solicitations', 'lead_entity_id', 'lead-entities'),
];

/** Whether the reference has a table of its own, rather than a column of its record's table. */
export function hasOwnTable({ from, table }: Reference): boolean {
  return table !== `catalog.${TABLE_OF[from]}`;
}

/** The keys in a record's field; none if it is null. */
export function keysIn(record: object, field: string): string[] {
  const value = (record as Readonly<Record<string, string | string[] | null>>)[field];
  if (value === undefined) throw new Error(`a record has no field ${field}`);
  return [value ?? []].flat();
}

/** Gets the value of a key that must be present. */
export function getFrom<K extends string, V>(map: ReadonlyMap<K, V>, key: K): V {
  const value = map.get(key);
  if (value === undefined) throw new Error(`there is no ${key}`);
  return value;
}

/**
 * The records of the small kinds, in memory: contracts and solicitations refer to them throughout. Suppliers can be
 * many, and are looked up as needed.
 */
export class ReferenceData {
  /** Rendered NamedRefs by id. */
  readonly named: Readonly<Record<NamedRefKind, Map<string, string>>> = {
    'lead-entities': new Map(),
    coops: new Map(),
    'city-services': new Map(),
  };
  /** Types by abbreviation. */
  readonly certifications = new Map<string, CertificationRecord['type']>();
  /** Keys in the import whose records have problems, or are not written because others have. */
  readonly #refused = new Map<Kind, Set<string>>();

  static async load({ kysely }: Database): Promise<ReferenceData> {
    const data = new ReferenceData();
    for (const kind of NAMED_REF_KINDS) {
      const { rows } = await sql<Pick<NamedRefRow, 'id' | 'document'>>`select id, document
        from ${sql.table(`catalog.${TABLE_OF[kind]}`)}`.execute(kysely);
      for (const { id, document } of rows) data.named[kind].set(id, document);
    }
    const { rows } = await sql<Pick<CertificationRow, 'abbreviation' | 'type'>>`select abbreviation, type
      from catalog.certifications`.execute(kysely);
    for (const { abbreviation, type } of rows) data.certifications.set(abbreviation, type);
    return data;
  }

  /** Marks a record that the import has but does not write, so that references to it are not reported as dangling. */
  markAsPresent(kind: Kind, key: string): void {
    if (!REFERENCES.some(({ to }) => to === kind)) return;
    const refused = this.#refused.get(kind) ?? new Set();
    this.#refused.set(kind, refused.add(key));
  }

  put(kind: Kind, key: string, columns: { document: string; type?: CertificationRecord['type'] }): void {
    if (kind === 'certifications' && columns.type !== undefined) this.certifications.set(key, columns.type);
    else if (kind in this.named) this.named[kind as NamedRefKind].set(key, columns.document);
  }

  /** @param suppliers the stored suppliers among those in question. */
  has(kind: Kind, key: string, suppliers: ReadonlyMap<string, unknown>): boolean {
    if (this.#refused.get(kind)?.has(key) === true) return true;
    return (isIndexed(kind) ? suppliers : this.#recordsOf(kind)).has(key);
  }

  #recordsOf(kind: Exclude<Kind, IndexedKind>): Map<string, unknown> {
    return kind === 'certifications' ? this.certifications : this.named[kind];
  }
}
