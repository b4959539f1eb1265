import { sql } from 'kysely';
import { isOneOf } from '../database/engine-sql.ts';
import { renderCertifications, renderSupplier } from '../resources/suppliers/render.ts';
import { stateOfLocation } from '../resources/suppliers/states.ts';
import { SearchEntryWriter } from '../search/write-entries.ts';
import { danglingReferences } from './references.ts';
import type { SupplierRecord } from './records.ts';
import { listIds, removeRecords } from './record-table.ts';
import { replaceChildRows, writeRows } from './rows.ts';
import { plannedNumber, type Entry, type KindWriter, type Run } from './run.ts';

const CHILD_TABLES = [
  { table: 'catalog.supplier_states', column: 'supplier_id' },
  { table: 'catalog.supplier_certifications', column: 'supplier_id' },
  { table: 'catalog.supplier_city_services', column: 'supplier_id' },
] as const;

/** Suppliers; `onLocationWithoutState` hears of each location that is not of the form `City, ST`. */
export async function supplierWriter(run: Run, onLocationWithoutState: () => void): Promise<KindWriter<'suppliers'>> {
  const { database, references, publication } = run;
  const { engine, kysely } = database;

  const search = new SearchEntryWriter(database, 'suppliers', run.emptyKinds.has('suppliers'));

  const loadStored = (keys: readonly string[]) =>
    kysely
      .selectFrom('catalog.suppliers')
      .select(['id', 'number', 'hash', 'document', 'certifications_preview', 'certifications_all'])
      .select(['changed_publication', 'updated_at'])
      .where((eb) => isOneOf(engine, eb.ref('id'), keys))
      .execute();

  const rowOf = ({ record, lineHash }: Entry<'suppliers'>, number: number, hash: string) => {
    const { all, preview } = renderCertifications(
      record.certifications.map((abbreviation) => ({
        abbreviation,
        type: references.certifications.get(abbreviation) ?? 'sbe',
      })),
    );
    const rendered = { document: renderSupplier(record), certifications_preview: preview, certifications_all: all };
    return {
      number,
      id: record.id,
      hash,
      line_hash: lineHash,
      ...rendered,
      changed_publication: publication,
      updated_at: null as string | null,
    };
  };

  return {
    assume: (key) => run.assumedSuppliers.add(key),
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
          run.problems.add({ file, ...problem });
        }
      }
    },
    async write(entries) {
      const counts = { added: 0, changed: 0, unchanged: 0 };
      const keys = run.emptyKinds.has('suppliers') ? [] : entries.map(({ key }) => key);
      const stored = new Map((await loadStored(keys)).map((row) => [row.id, row]));
      const changed: Entry<'suppliers'>[] = [];
      const rows: ReturnType<typeof rowOf>[] = [];
      for (const entry of entries) {
        const before = stored.get(entry.key);
        const { hash } = entry;
        if (before?.hash === hash) {
          counts.unchanged += 1;
          continue;
        }
        changed.push(entry);
        const row = rowOf(entry, before?.number ?? plannedNumber(entry.key, entry.number), hash);
        if (before === undefined) {
          counts.added += 1;
          if (run.emptyKinds.has('suppliers')) row.updated_at = entry.updatedAt;
        } else {
          counts.changed += 1;
          if (before.document !== row.document) run.changed.suppliers.add(entry.key);
          else if (
            before.certifications_all === row.certifications_all &&
            before.certifications_preview === row.certifications_preview
          ) {
            // What is searched and filtered by changed, but nothing that is served.
            row.changed_publication = before.changed_publication;
            row.updated_at = before.updated_at;
          }
        }
        rows.push(row);
      }
      await writeRows(
        database,
        'catalog.suppliers',
        'id',
        rows.map((row) => ({ row, isNew: !stored.has(row.id) })),
      );
      await writeChildren(
        run,
        changed.map(({ record }) => record),
      );
      await search.add(
        changed.map(({ key, words }, index) => ({ number: rows[index]?.number ?? 0, words, isNew: !stored.has(key) })),
      );
      return counts;
    },
    async flush() {
      const last = await search.flush();
      if (last !== null) run.lastSteps.push(last);
    },
    listKeys: () => listIds(database, 'suppliers'),
    async findReferrers(keys) {
      const { rows } = await sql<{ key: string; referrer: string }>`
        select supplier_id as key, min(contract_id) as referrer from catalog.contract_suppliers
        where ${isOneOf(engine, sql.ref('supplier_id'), keys)} group by 1`.execute(kysely);
      return new Map(rows.map(({ key, referrer }) => [key, `contract ${referrer}`]));
    },
    remove: (keys) => removeRecords(database, 'suppliers', keys, CHILD_TABLES),
  };
}

async function writeChildren({ database }: Run, records: readonly SupplierRecord[]): Promise<void> {
  const ids = records.map(({ id }) => id);
  // Serving or based in a state: the filter does not tell them apart.
  const states = records.flatMap(({ id: supplier_id, states_served, location }) =>
    [...new Set([...states_served, stateOfLocation(location) ?? []].flat())].map((state) => ({ supplier_id, state })),
  );
  const certifications = records.flatMap((record) =>
    record.certifications.map((abbreviation) => ({ supplier_id: record.id, abbreviation })),
  );
  const services = records.flatMap((record) =>
    record.city_service_ids.map((city_service_id) => ({ supplier_id: record.id, city_service_id })),
  );
  await replaceChildRows(database, 'catalog.supplier_states', 'supplier_id', ids, states);
  await replaceChildRows(database, 'catalog.supplier_certifications', 'supplier_id', ids, certifications);
  await replaceChildRows(database, 'catalog.supplier_city_services', 'supplier_id', ids, services);
}
