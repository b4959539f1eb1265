/** Measured on a catalog of its own, whose size is not one of a market. */
export const SKEWED_PART = { part: 'skewed', work: 'every combination of filters' } as const;
