import { renderContract } from '../resources/contracts/render.ts';
import type { ContractRecord, RecordKind } from './records.ts';
import type { References } from './references.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

/**
 * The longest line of each kind, in bytes of UTF-8. Each contract repeats its suppliers, and a page holds a hundred
 * records: without a limit, one supplier of 6 MB made a database of 607 MB and pages that no process could hold. The
 * longest lines of real data so far have 3 kB, or 65 kB for solicitations with all notices and questions.
 */
export const MAX_LINE_BYTES: Readonly<Record<RecordKind, number>> = {
  'lead-entities': 256 * KIB,
  coops: 256 * KIB,
  'city-services': 256 * KIB,
  certifications: 256 * KIB,
  suppliers: 256 * KIB,
  contracts: 256 * KIB,
  solicitations: 2 * MIB,
};

/**
 * The longest contract, with the suppliers and city services that it embeds, in bytes: as long as the longest
 * solicitation, with room for a thousand suppliers of 2 KiB. The names of its lead entity and coop are not counted,
 * since the database replaces them without rendering the contract.
 */
export const MAX_CONTRACT_BYTES = 2 * MIB;

/** Limit of the documents rendered at once, in bytes: 500 of the longest contracts would take 1 GB. */
export const MAX_BATCH_BYTES = 16 * MIB;

/**
 * The size that {@link MAX_CONTRACT_BYTES} limits, computed before rendering.
 *
 * @param supplierBytes the sizes of its suppliers' embedded form; a missing one counts as 0.
 */
export function contractBytes(
  { id, name, summary, description, supplier_ids, city_service_ids }: ContractRecord,
  { named }: References,
  supplierBytes: ReadonlyMap<string, number>,
): number {
  const own = renderContract({
    id,
    name,
    summary,
    description,
    leadEntity: '',
    coop: '',
    suppliers: [],
    cityServices: [],
  });
  const sum = (sizes: readonly number[]): number => sizes.reduce((total, size) => total + size, 0);
  return (
    Buffer.byteLength(own) +
    // Each has a comma after it, and a supplier its closing brace.
    sum(supplier_ids.map((supplier) => (supplierBytes.get(supplier) ?? 0) + 2)) +
    sum(city_service_ids.map((service) => Buffer.byteLength(named['city-services'].get(service) ?? '') + 1))
  );
}

/** Splits a list into batches whose total size stays within a limit; each batch has at least one item. */
export function batchesBySize<T>(items: readonly T[], bytesOf: (item: T) => number, maxBytes: number): T[][] {
  const batches: T[][] = [];
  let batch: T[] = [];
  let batchBytes = 0;
  for (const item of items) {
    const bytes = bytesOf(item);
    if (batch.length > 0 && batchBytes + bytes > maxBytes) {
      batches.push(batch);
      batch = [];
      batchBytes = 0;
    }
    batch.push(item);
    batchBytes += bytes;
  }
  return batch.length === 0 ? batches : [...batches, batch];
}
