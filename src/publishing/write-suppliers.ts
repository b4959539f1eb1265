import { sql } from 'kysely';
import { isOneOf } from '../database/engine-sql.ts';
import { renderCertifications, renderSupplier } from '../resources/suppliers/render.ts';
import { stateOfLocation } from '../resources/suppliers/states.ts';
import { danglingReferences } from './references.ts';
import type { SupplierRecord } from './records.ts';
import { listIds, removeRecords, rowOf } from './record-table.ts';
import { replaceChildRows, writeRows } from './rows.ts';
import { importedUpdatedAt, plannedRow, type Entry, type RecordWriter, type ImportContext } from './import-context.ts';

const CHILD_TABLES = [
  { table: 'catalog.supplier_certifications', column: 'supplier_id' },
  { table: 'catalog.supplier_city_services', column: 'supplier_id' },
  { table: 'catalog.supplier_lead_entities', column: 'supplier_id' },
  { table: 'catalog.supplier_coops', column: 'supplier_id' },
] as const;

/** Writes suppliers; `onLocationWithoutState` is called for each location not of the form `City, ST`. */
export async function supplierWriter(
  context: ImportContext,
  onLocationWithoutState: () => void,
): Promise<RecordWriter<'suppliers'>> {
  const { database, references, publication } = context;
  const { engine, kysely } = database;
  const index = context.index.suppliers;

  const loadStored = (keys: readonly string[]) =>
    kysely
      .selectFrom('catalog.suppliers')
      .select(['id', 'number', 'position', 'hash', 'document', 'certifications_preview', 'certifications_all'])
      .select(['changed_publication', 'updated_at'])
      .where((eb) => isOneOf(engine, eb.ref('id'), keys))
      .execute();

  const render = ({ record, lineHash, hash }: Entry<'suppliers'>, row: { number: number; position: number }) => {
    const { all, preview } = renderCertifications(
      record.certifications.map((abbreviation) => ({
        abbreviation,
        type: references.certifications.get(abbreviation) ?? 'sbe',
      })),
    );
    const rendered = { document: renderSupplier(record), certifications_preview: preview, certifications_all: all };
    return {
      ...row,
      id: record.id,
      hash,
      line_hash: lineHash,
      ...rendered,
      searched: [record.short_intro, record.about].filter((text) => text !== null).join('\n'),
      changed_publication: publication,
      updated_at: null as string | null,
    };
  };

  return {
    markAsPresent: (key) => context.presentSuppliers.add(key),
    async check(entries, file) {
      for (const entry of entries) {
        const { certifications, city_service_ids: services, location } = entry.record;
        if (location !== null && stateOfLocation(location) === null) onLocationWithoutState();
        for (const problem of [
          ...danglingReferences(entry, 'certifications[]', certifications, 'certification', (id) =>
            references.certifications.has(id),
          ),
          ...danglingReferences(entry, 'city_service_ids[]', services, 'city service', (id) =>
            references.named['city-services'].has(id),
          ),
        ]) {
          context.problems.add({ file, ...problem });
        }
      }
    },
    async write(entries) {
      const counts = { added: 0, changed: 0, unchanged: 0 };
      const keys = context.emptyKinds.has('suppliers') ? [] : entries.map(({ key }) => key);
      const stored = new Map((await loadStored(keys)).map((row) => [row.id, row]));
      const changed: Entry<'suppliers'>[] = [];
      const rows: ReturnType<typeof render>[] = [];
      for (const entry of entries) {
        const before = stored.get(entry.key);
        if (before?.hash === entry.hash) {
          counts.unchanged += 1;
          continue;
        }
        changed.push(entry);
        const row = render(entry, before === undefined ? plannedRow(entry) : rowOf(before));
        if (before === undefined) {
          counts.added += 1;
          row.updated_at = importedUpdatedAt(context, 'suppliers', entry.updatedAt);
        } else {
          counts.changed += 1;
          if (before.document !== row.document) context.changed.suppliers.add(entry.key);
          else if (
            before.certifications_all === row.certifications_all &&
            before.certifications_preview === row.certifications_preview
          ) {
            // Searched or filtered fields changed, but nothing served.
            row.changed_publication = before.changed_publication;
            row.updated_at = before.updated_at;
          }
        }
        rows.push(row);
      }
      const former = await index.loadBefore(rows.filter(({ id }) => stored.has(id)));
      await writeRows(
        database,
        'catalog.suppliers',
        'id',
        rows.map((row) => ({ row, isNew: !stored.has(row.id) })),
      );
      await writeChildren(
        context,
        changed.map(({ record }) => record),
      );
      for (const [at, row] of rows.entries()) {
        const before = former.get(row.id) ?? null;
        const city_services = changed[at]?.record.city_service_ids ?? [];
        // `updateSupplierVisibility` updates the paths at the end.
        index.replace(row.position, before, { ...row, city_services, paths: before?.paths ?? [] });
      }
      await index.writeIfLarge();
      context.formerSearch?.noteWritten(
        'suppliers',
        rows.map(({ number }) => number),
      );
      return counts;
    },
    listKeys: () => listIds(database, 'suppliers'),
    async findReferrers(keys) {
      const { rows } = await sql<{ key: string; referrer: string }>`
        select supplier_id as key, min(contract_id) as referrer from catalog.contract_suppliers
        where ${isOneOf(engine, sql.ref('supplier_id'), keys)} group by 1`.execute(kysely);
      return new Map(rows.map(({ key, referrer }) => [key, `contract ${referrer}`]));
    },
    remove: (keys) => removeRecords(context, 'suppliers', keys, CHILD_TABLES),
  };
}

async function writeChildren({ database }: ImportContext, records: readonly SupplierRecord[]): Promise<void> {
  const ids = records.map(({ id }) => id);
  const certifications = records.flatMap((record) =>
    record.certifications.map((abbreviation) => ({ supplier_id: record.id, abbreviation })),
  );
  const services = records.flatMap((record) =>
    record.city_service_ids.map((city_service_id) => ({ supplier_id: record.id, city_service_id })),
  );
  await replaceChildRows(database, 'catalog.supplier_certifications', 'supplier_id', ids, certifications);
  await replaceChildRows(database, 'catalog.supplier_city_services', 'supplier_id', ids, services);
}
