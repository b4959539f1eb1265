import type { Database } from '../../database/database.ts';

/**
 * Resolves the value of the `certifications` filter: names or abbreviations, comma-separated.
 * A name may hold commas itself, so at each place the longest one that fits is taken. Case
 * counts only where two differ by nothing else.
 *
 * @returns the abbreviations; null in the place of one that is not known, which no supplier holds.
 */
export async function resolveCertifications({ kysely }: Database, value: string): Promise<(string | null)[]> {
  const rows = await kysely
    .selectFrom('catalog.certifications')
    .select(['abbreviation', 'name'])
    .orderBy('abbreviation')
    .execute();
  // Later entries win: the exact spelling over a folded one, an abbreviation over a name.
  const known = new Map([
    ...rows.map(({ name, abbreviation }) => [name.toLowerCase(), abbreviation] as const),
    ...rows.toReversed().map(({ abbreviation }) => [abbreviation.toLowerCase(), abbreviation] as const),
    ...rows.map(({ name, abbreviation }) => [name, abbreviation] as const),
    ...rows.map(({ abbreviation }) => [abbreviation, abbreviation] as const),
  ]);
  // No known name is longer than this, so that a long list costs no more than its length.
  const mostParts = 1 + Math.max(0, ...[...known.keys()].map((name) => name.split(',').length - 1));

  const parts = value.split(',');
  const resolved = new Set<string | null>();
  for (let start = 0; start < parts.length;) {
    let length = Math.min(mostParts, parts.length - start);
    let found = find(start, length);
    while (found === undefined && length > 1) found = find(start, (length -= 1));
    resolved.add(found ?? null);
    start += length;
  }
  return [...resolved];

  function find(start: number, length: number): string | undefined {
    const text = parts
      .slice(start, start + length)
      .join(',')
      .trim();
    return known.get(text) ?? known.get(text.toLowerCase());
  }
}
