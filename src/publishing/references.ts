import { sql } from 'kysely';
import type { Database } from '../database/database.ts';
import { isOneOf } from '../database/engine-sql.ts';
import type { Entry } from './import-context.ts';
import type { CertificationRecord, RecordKind } from './records.ts';

export type NamedRefKind = 'lead-entities' | 'coops' | 'city-services';

export const NAMED_REF_TABLES = {
  'lead-entities': 'catalog.lead_entities',
  coops: 'catalog.coops',
  'city-services': 'catalog.city_services',
} as const satisfies Record<NamedRefKind, string>;

/**
 * The small kinds, fully in memory: contracts and solicitations refer to them throughout. Suppliers can be many, and
 * are looked up as needed.
 */
export class References {
  /** Rendered NamedRefs by id. */
  readonly named: Readonly<Record<NamedRefKind, Map<string, string>>>;
  readonly certifications: Map<string, CertificationRecord['type']>;

  private constructor(named: References['named'], certifications: References['certifications']) {
    this.named = named;
    this.certifications = certifications;
  }

  static async load({ kysely }: Database): Promise<References> {
    const load = async (kind: NamedRefKind): Promise<Map<string, string>> => {
      const rows = await kysely.selectFrom(NAMED_REF_TABLES[kind]).select(['id', 'document']).execute();
      return new Map(rows.map(({ id, document }) => [id, document]));
    };
    const certifications = await kysely.selectFrom('catalog.certifications').select(['abbreviation', 'type']).execute();
    return new References(
      {
        'lead-entities': await load('lead-entities'),
        coops: await load('coops'),
        'city-services': await load('city-services'),
      },
      new Map(certifications.map(({ abbreviation, type }) => [abbreviation, type])),
    );
  }
}

/** Reports the ids that do not exist; `exists` decides. */
export function danglingReferences<K extends RecordKind>(
  entry: Entry<K>,
  field: string,
  ids: readonly string[],
  what: string,
  exists: (id: string) => boolean,
): { line: number; field: string; reason: string }[] {
  return ids.flatMap((id, index) =>
    exists(id)
      ? []
      : [
          {
            line: entry.line,
            field: field.replace('[]', `[${index}]`),
            reason: `${JSON.stringify(id)} names no ${what}`,
          },
        ],
  );
}

/** The size of these suppliers' embedded form, in bytes. Reads no document. Served by the unique index on id. */
export async function loadSupplierBytes(
  { engine, kysely }: Database,
  ids: Iterable<string>,
): Promise<Map<string, number>> {
  const rows = await kysely
    .selectFrom('catalog.suppliers')
    .select(['id', sql<number>`octet_length(document)`.as('bytes')])
    .where((eb) => isOneOf(engine, eb.ref('id'), [...new Set(ids)]))
    .execute();
  return new Map(rows.map(({ id, bytes }) => [id, bytes]));
}

/** These suppliers' embedded form, without the closing brace. Served by the unique index on id. */
export async function loadSupplierDocuments(
  { engine, kysely }: Database,
  ids: Iterable<string>,
): Promise<Map<string, string>> {
  const rows = await kysely
    .selectFrom('catalog.suppliers')
    .select(['id', 'document'])
    .where((eb) => isOneOf(engine, eb.ref('id'), [...new Set(ids)]))
    .execute();
  return new Map(rows.map(({ id, document }) => [id, document]));
}
