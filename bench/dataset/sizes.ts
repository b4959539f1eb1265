/** The number of records of each kind. */
export type DataSize = ReturnType<typeof dataSizeOf>;

/** The default size for a number of solicitations: a tenth as many contracts, a twentieth as many suppliers. */
export function dataSizeOf(solicitations: number) {
  return {
    solicitations,
    contracts: Math.ceil(solicitations / 10),
    suppliers: Math.ceil(solicitations / 20),
    leadEntities: Math.max(50, Math.ceil(solicitations / 2_000)),
    coops: 12,
    cityServices: 300,
    /** The share of contracts held by a single lead entity, the largest. */
    largestContractShare: 0.5,
  };
}

/** The folder name of a market size, such as `10k` or `1m`. */
export function sizeName(solicitations: number): string {
  if (solicitations % 1_000_000 === 0) return `${solicitations / 1_000_000}m`;
  return solicitations % 1_000 === 0 ? `${solicitations / 1_000}k` : String(solicitations);
}
