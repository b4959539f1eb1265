import { sql } from 'kysely';
import { isOneOf } from '../../database/statement.ts';
import { inBatches } from '../../database/rows.ts';
import { INDEXED_KINDS, type IndexedKind, type Kind } from '../../kinds.ts';
import type { ContractRecord } from '../../resources/contracts/fields.ts';
import type { ImportContext } from '../import-context.ts';
import type { ImportedKind } from '../import-kind.ts';
import { RecordWriter } from './record-writer.ts';
import { getFrom, REFERENCES } from './references.ts';
import { MAX_CONTRACT_BYTES } from './render-row.ts';

/**
 * Rerenders stored records that embed changed ones, such as contracts with a renamed lead entity. Reports contracts that
 * this makes too large, and leaves them unchanged.
 *
 * @param published the sources of this import, to name the one that caused a problem.
 * @returns the number of records that changed only because of this.
 */
export async function rerender(context: ImportContext, published: ReadonlyMap<Kind, ImportedKind>): Promise<number> {
  let rerendered = 0;
  for (const kind of INDEXED_KINDS) {
    const writer = new RecordWriter(context, kind, () => undefined);
    rerendered += await writer.rerender(await listReferrers(context, kind), (record, bytes, supplierBytes) => {
      if (bytes <= MAX_CONTRACT_BYTES) return true;
      reportTooLarge(context, published, record as ContractRecord, bytes, supplierBytes);
      return false;
    });
  }
  return rerendered;
}

/** The contract may be in none of the files, so this names the largest changed record that it embeds. */
function reportTooLarge(
  { changed, referenceData }: ImportContext,
  published: ReadonlyMap<Kind, ImportedKind>,
  record: ContractRecord,
  bytes: number,
  supplierBytes: ReadonlyMap<string, number>,
): void {
  const services = referenceData.named['city-services'];
  const [largest] = [
    ...record.supplier_ids.map((id) => ({ kind: 'suppliers' as const, id, size: getFrom(supplierBytes, id) })),
    ...record.city_service_ids.map((id) => ({
      kind: 'city-services' as const,
      id,
      size: getFrom(services, id).length,
    })),
  ]
    .filter(({ kind, id }) => getFrom(changed, kind).has(id))
    .sort((a, b) => b.size - a.size);
  if (largest === undefined) throw new Error(`contract ${record.id} is too large, but embeds nothing that changed`);
  const { writer, lines } = getFrom(published, largest.kind);
  const reason = `makes contract ${JSON.stringify(record.id)} ${bytes} bytes long; the maximum for a contract is ${MAX_CONTRACT_BYTES}, with the suppliers and city services that it names`;
  writer.report(lines.get(largest.id) ?? null, '', reason);
}

/** The ids of the records of a kind that embed changed ones. Served by the index of the reference's table. */
async function listReferrers(
  { changed, database: { engine, kysely } }: ImportContext,
  kind: IndexedKind,
): Promise<Set<string>> {
  const ids = new Set<string>();
  for (const { to, table, owner, column } of REFERENCES.filter(({ from }) => from === kind)) {
    // Suppliers are found by their city services, and do not show them.
    if (kind === 'suppliers' && to === 'city-services') continue;
    for (const batch of inBatches([...getFrom(changed, to)])) {
      const { rows } = await sql<{ id: string }>`select distinct ${sql.ref(owner)} as id
        from ${sql.table(table)} where ${isOneOf(engine, sql.ref(column), batch)}`.execute(kysely);
      for (const { id } of rows) ids.add(id);
    }
  }
  return ids;
}
