/** Measured on its own catalog, whose size is not a market size. */
export const SKEWED_PART = { part: 'skewed', work: 'every combination of filters' } as const;
