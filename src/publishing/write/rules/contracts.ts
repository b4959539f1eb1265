import type { Database } from '../../../database/database.ts';
import { isOneOf } from '../../../database/engine-sql.ts';
import type { ContractRow } from '../../../database/tables.ts';
import { renderContract } from '../../../resources/contracts/render.ts';
import type { ImportContext } from '../../import-context.ts';
import type { ContractRecord } from '../../../resources/contracts/fields.ts';
import { publishedColumns, type KindRules, type Report } from '../record-writer.ts';
import { getFrom, loadSupplierBytes, type ReferenceData } from '../references.ts';

/**
 * The longest contract, with the suppliers and city services that it embeds, in bytes: as long as the longest
 * solicitation, with room for a thousand suppliers of 2 KiB. The names of its lead entity and coop are not counted,
 * since the database replaces them without rendering the contract.
 */
export const MAX_CONTRACT_BYTES = 2 * 1024 * 1024;

/** Limit of the documents rendered at once, in bytes: 500 of the longest contracts would take 1 GB. */
const MAX_BATCH_BYTES = 16 * 1024 * 1024;

/** Contracts. Every field is served, so any change of the record changes `updated_at`. */
export function contractRules(
  context: ImportContext,
  report: Report,
): KindRules<'contracts', Pick<ContractRow, 'position' | 'hash'>> {
  return {
    columns: ['position', 'hash'],
    check({ record, line }, supplierBytes) {
      const bytes = contractBytes(record, context.referenceData, supplierBytes);
      if (bytes <= MAX_CONTRACT_BYTES) return;
      report(
        line,
        '',
        `is ${bytes} bytes long with the suppliers and city services that it names; the maximum for a contract is ${MAX_CONTRACT_BYTES}`,
      );
    },
    isUnchanged: (before, { hash }) => before.hash === hash,
    async *render(changes) {
      const suppliers = await loadSupplierBytes(
        context.database,
        changes.flatMap(({ entry }) => entry.record.supplier_ids),
      );
      for await (const batch of renderContracts(context, changes, ({ entry }) => entry.record, suppliers)) {
        yield batch.map(({ item, document }) => {
          const { lead_entity_id, coop_id } = item.entry.record;
          const row = { ...publishedColumns(context, 'contracts', item), lead_entity_id, coop_id, document };
          return { ...item, row };
        });
      }
    },
  };
}

/**
 * Renders contracts with the records that they embed, in batches that fit into memory.
 *
 * @param supplierBytes the sizes of all suppliers that they name.
 */
export async function* renderContracts<T>(
  { database, referenceData }: ImportContext,
  items: readonly T[],
  recordOf: (item: T) => ContractRecord,
  supplierBytes: ReadonlyMap<string, number>,
): AsyncGenerator<{ item: T; document: string }[]> {
  const bytesOf = (item: T): number => contractBytes(recordOf(item), referenceData, supplierBytes);
  for (const batch of batchesBySize(items, bytesOf)) {
    const ids = batch.flatMap((item) => recordOf(item).supplier_ids);
    const suppliers = await loadSupplierDocuments(database, ids);
    yield batch.map((item) => ({ item, document: render(recordOf(item), referenceData, suppliers) }));
  }
}

/** `suppliers` are embedded forms without the closing brace. */
function render(
  { id, name, summary, description, lead_entity_id, coop_id, supplier_ids, city_service_ids }: ContractRecord,
  { named }: ReferenceData,
  suppliers: ReadonlyMap<string, string>,
): string {
  return renderContract({
    id,
    name,
    summary,
    description,
    leadEntity: getFrom(named['lead-entities'], lead_entity_id),
    coop: coop_id === null ? null : getFrom(named.coops, coop_id),
    suppliers: supplier_ids.map((supplier) => `${getFrom(suppliers, supplier)}}`),
    cityServices: city_service_ids.map((service) => getFrom(named['city-services'], service)),
  });
}

/**
 * The size that {@link MAX_CONTRACT_BYTES} limits, computed before rendering. A supplier or city service that does not
 * exist counts as nothing: it is reported as such.
 */
export function contractBytes(
  { id, name, summary, description, supplier_ids, city_service_ids }: ContractRecord,
  { named }: ReferenceData,
  supplierBytes: ReadonlyMap<string, number>,
): number {
  const own = { id, name, summary, description, leadEntity: '', coop: '', suppliers: [], cityServices: [] };
  let bytes = Buffer.byteLength(renderContract(own));
  // Each has a comma after it, and a supplier its closing brace.
  for (const supplier of supplier_ids) bytes += (supplierBytes.get(supplier) ?? 0) + 2;
  for (const service of city_service_ids) bytes += Buffer.byteLength(named['city-services'].get(service) ?? '') + 1;
  return bytes;
}

/** Splits a list into batches of at most `MAX_BATCH_BYTES`; each has at least one item. */
export function* batchesBySize<T>(items: readonly T[], bytesOf: (item: T) => number): Generator<T[]> {
  let batch: T[] = [];
  let batchBytes = 0;
  for (const item of items) {
    const bytes = bytesOf(item);
    if (batch.length > 0 && batchBytes + bytes > MAX_BATCH_BYTES) {
      yield batch;
      batch = [];
      batchBytes = 0;
    }
    batch.push(item);
    batchBytes += bytes;
  }
  if (batch.length > 0) yield batch;
}

/** These suppliers' embedded form, without the closing brace. Served by the unique index on id. */
async function loadSupplierDocuments(
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
