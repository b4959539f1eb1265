import { sql } from 'kysely';
import { isOneOf } from '../database/engine-sql.ts';
import { renderNamedRef } from '../resources/reference-lists/render.ts';
import { NAMED_REF_TABLES, type NamedRefKind } from './references.ts';
import { deleteRows, writeRows } from './rows.ts';
import type { RecordWriter, ImportContext } from './import-context.ts';

/** The references to each kind: table, column, and the column of the referring record. */
const REFERRERS: Record<NamedRefKind, { table: string; column: string; referrer: string; what: string }[]> = {
  'lead-entities': [
    { table: 'catalog.contracts', column: 'lead_entity_id', referrer: 'id', what: 'contract' },
    { table: 'catalog.solicitations', column: 'lead_entity_id', referrer: 'id', what: 'solicitation' },
  ],
  coops: [{ table: 'catalog.contracts', column: 'coop_id', referrer: 'id', what: 'contract' }],
  'city-services': [
    { table: 'catalog.contract_city_services', column: 'city_service_id', referrer: 'contract_id', what: 'contract' },
    { table: 'catalog.supplier_city_services', column: 'city_service_id', referrer: 'supplier_id', what: 'supplier' },
  ],
};

/** Writes lead entities, coops and city services. */
export function namedRefWriter(context: ImportContext, kind: NamedRefKind): RecordWriter<NamedRefKind> {
  const { database } = context;
  const table = NAMED_REF_TABLES[kind];
  const known = context.references.named[kind];
  return {
    markAsPresent: (key) => known.set(key, ''),
    async write(entries) {
      const counts = { added: 0, changed: 0, unchanged: 0 };
      const rows = [];
      for (const { record } of entries) {
        const document = renderNamedRef(record);
        const before = known.get(record.id);
        if (before === document) {
          counts.unchanged += 1;
          continue;
        }
        counts[before === undefined ? 'added' : 'changed'] += 1;
        if (before !== undefined) {
          context.changed[kind].add(record.id);
          if (kind !== 'city-services') context.former[kind].set(record.id, before);
        }
        known.set(record.id, document);
        rows.push({ row: { ...record, document }, isNew: before === undefined });
      }
      await writeRows(database, table, 'id', rows);
      return counts;
    },
    async listKeys() {
      return [...known.keys()];
    },
    async findReferrers(keys) {
      const found = new Map<string, string>();
      for (const { table: referring, column, referrer, what } of REFERRERS[kind]) {
        const { rows } = await sql<{ key: string; referrer: string }>`
          select ${sql.ref(column)} as key, min(${sql.ref(referrer)}) as referrer from ${sql.table(referring)}
          where ${isOneOf(database.engine, sql.ref(column), keys)} group by 1`.execute(database.kysely);
        for (const row of rows) found.set(row.key, `${what} ${row.referrer}`);
      }
      return found;
    },
    async remove(keys) {
      await deleteRows(database, table, 'id', keys);
      for (const key of keys) known.delete(key);
    },
  };
}
