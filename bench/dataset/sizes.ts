/** How many records of each kind. */
export interface DataSize {
  solicitations: number;
  contracts: number;
  suppliers: number;
  leadEntities: number;
  coops: number;
  cityServices: number;
  /** Share of the contracts that the lead entity with the most of them holds. */
  largestContractShare: number;
}

/** The sizes that cost is compared at. */
export const SOLICITATION_COUNTS = [10_000, 100_000, 1_000_000] as const;

/** A market with so many solicitations: a tenth as many contracts, a twentieth as many suppliers. */
export function dataSizeOf(solicitations: number): DataSize {
  return {
    solicitations,
    contracts: Math.ceil(solicitations / 10),
    suppliers: Math.ceil(solicitations / 20),
    leadEntities: Math.max(50, Math.ceil(solicitations / 2_000)),
    coops: 12,
    cityServices: 300,
    largestContractShare: 0.5,
  };
}

/** The name of the folder of a size: `10k`, `1m`. */
export function sizeName(solicitations: number): string {
  if (solicitations % 1_000_000 === 0) return `${solicitations / 1_000_000}m`;
  return solicitations % 1_000 === 0 ? `${solicitations / 1_000}k` : String(solicitations);
}
