import { isOneOf } from '../database/engine-sql.ts';
import { renderContract } from '../resources/contracts/render.ts';
import { danglingReferences, loadSupplierBytes, loadSupplierDocuments, type References } from './references.ts';
import type { ContractRecord } from './records.ts';
import { listIds, removeRecords, rowOf } from './record-table.ts';
import { replaceChildRows, writeRows } from './rows.ts';
import { importedUpdatedAt, plannedRow, type Entry, type RecordWriter, type ImportContext } from './import-context.ts';
import { batchesBySize, contractBytes, MAX_BATCH_BYTES, MAX_CONTRACT_BYTES } from './size-limits.ts';

const CHILD_TABLES = [
  { table: 'catalog.contract_suppliers', column: 'contract_id' },
  { table: 'catalog.contract_city_services', column: 'contract_id' },
] as const;

/** Writes contracts. Every field is served, so any change of the record changes `updated_at`. */
export async function contractWriter(context: ImportContext): Promise<RecordWriter<'contracts'>> {
  const { database, references, publication } = context;
  const { engine, kysely } = database;

  const index = context.index.contracts;

  const loadStored = (keys: readonly string[]) =>
    kysely
      .selectFrom('catalog.contracts')
      .select(['id', 'number', 'position', 'hash'])
      .where((eb) => isOneOf(engine, eb.ref('id'), keys))
      .execute();

  return {
    async check(entries, file) {
      const named = entries.flatMap(({ record }) => record.supplier_ids);
      const supplierBytes = await loadSupplierBytes(database, named);
      for (const entry of entries) {
        const { lead_entity_id, coop_id, supplier_ids, city_service_ids } = entry.record;
        const { 'lead-entities': leadEntities, coops, 'city-services': cityServices } = references.named;
        for (const problem of [
          ...danglingReferences(entry, 'lead_entity_id', [lead_entity_id], 'lead entity', (id) => leadEntities.has(id)),
          ...danglingReferences(entry, 'coop_id', coop_id === null ? [] : [coop_id], 'coop', (id) => coops.has(id)),
          ...danglingReferences(
            entry,
            'supplier_ids[]',
            supplier_ids,
            'supplier',
            (id) => supplierBytes.has(id) || context.presentSuppliers.has(id),
          ),
          ...danglingReferences(entry, 'city_service_ids[]', city_service_ids, 'city service', (id) =>
            cityServices.has(id),
          ),
        ]) {
          context.problems.add({ file, ...problem });
        }
        const bytes = contractBytes(entry.record, references, supplierBytes);
        if (bytes > MAX_CONTRACT_BYTES) {
          const reason = `is ${bytes} bytes long with the suppliers and city services that it names; a contract must have at most ${MAX_CONTRACT_BYTES}`;
          context.problems.add({ file, line: entry.line, field: '', reason });
        }
      }
    },
    async write(entries) {
      const counts = { added: 0, changed: 0, unchanged: 0 };
      const keys = context.emptyKinds.has('contracts') ? [] : entries.map(({ key }) => key);
      const stored = new Map((await loadStored(keys)).map((row) => [row.id, row]));
      const changed = [];
      for (const { key, row, lineHash, hash, record, updatedAt } of entries) {
        const before = stored.get(key);
        if (before?.hash === hash) {
          counts.unchanged += 1;
          continue;
        }
        counts[before === undefined ? 'added' : 'changed'] += 1;
        changed.push({
          record,
          hash,
          isNew: before === undefined,
          lineHash,
          ...(before === undefined ? plannedRow({ key, row }) : rowOf(before)),
          updatedAt: before === undefined ? importedUpdatedAt(context, 'contracts', updatedAt) : null,
        });
      }
      const supplierBytes = await loadSupplierBytes(
        database,
        changed.flatMap(({ record }) => record.supplier_ids),
      );
      const bytesOf = ({ record }: Pick<Entry<'contracts'>, 'record'>): number =>
        contractBytes(record, references, supplierBytes);
      for (const batch of batchesBySize(changed, bytesOf, MAX_BATCH_BYTES)) {
        const suppliers = await loadSupplierDocuments(
          database,
          batch.flatMap(({ record }) => record.supplier_ids),
        );
        const former = await index.loadBefore(
          batch.flatMap(({ isNew, position, record: { id } }) => (isNew ? [] : [{ id, position }])),
        );
        const rows = batch.map(({ record, hash, lineHash, number, position, updatedAt, isNew }) => ({
          isNew,
          row: {
            number,
            position,
            id: record.id,
            hash,
            line_hash: lineHash,
            changed_publication: publication,
            updated_at: updatedAt,
            lead_entity_id: record.lead_entity_id,
            coop_id: record.coop_id,
            document: renderContractRecord(record, references, suppliers),
          },
        }));
        await writeRows(database, 'catalog.contracts', 'id', rows);
        for (const { row } of rows) index.replace(row.position, former.get(row.id) ?? null, row);
        await index.writeIfLarge();
      }
      context.formerSearch?.noteWritten(
        'contracts',
        changed.map(({ number }) => number),
      );
      await writeChildren(
        context,
        changed.map(({ record }) => record),
      );
      return counts;
    },
    listKeys: () => listIds(database, 'contracts'),
    remove: (keys) => removeRecords(context, 'contracts', keys, CHILD_TABLES),
  };
}

/** Renders a contract with the records that it embeds; `suppliers` are embedded forms without the closing brace. */
export function renderContractRecord(
  record: ContractRecord,
  references: References,
  suppliers: ReadonlyMap<string, string>,
): string {
  const { id, name, summary, description } = record;
  const get = (map: ReadonlyMap<string, string>, key: string): string => {
    const text = map.get(key);
    if (text === undefined) throw new Error(`contract ${id} names ${key}, which is not there`);
    return text;
  };
  const { named } = references;
  return renderContract({
    id,
    name,
    summary,
    description,
    leadEntity: get(named['lead-entities'], record.lead_entity_id),
    coop: record.coop_id === null ? null : get(named.coops, record.coop_id),
    suppliers: record.supplier_ids.map((supplier) => `${get(suppliers, supplier)}}`),
    cityServices: record.city_service_ids.map((service) => get(named['city-services'], service)),
  });
}

async function writeChildren({ database }: ImportContext, records: readonly ContractRecord[]): Promise<void> {
  const ids = records.map(({ id }) => id);
  const suppliers = records.flatMap((record) =>
    record.supplier_ids.map((supplier_id) => ({ contract_id: record.id, supplier_id })),
  );
  const services = records.flatMap((record) =>
    record.city_service_ids.map((city_service_id) => ({ contract_id: record.id, city_service_id })),
  );
  await replaceChildRows(database, 'catalog.contract_suppliers', 'contract_id', ids, suppliers);
  await replaceChildRows(database, 'catalog.contract_city_services', 'contract_id', ids, services);
}
