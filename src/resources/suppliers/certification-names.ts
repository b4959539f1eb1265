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
  const find = (text: string): string | undefined => known.get(text) ?? known.get(text.toLowerCase());

  const parts = value.split(',');
  const resolved: (string | null)[] = [];
  for (let start = 0; start < parts.length;) {
    let length = parts.length - start;
    let found: string | undefined;
    for (; length > 0; length -= 1) {
      found = find(
        parts
          .slice(start, start + length)
          .join(',')
          .trim(),
      );
      if (found !== undefined) break;
    }
    resolved.push(found ?? null);
    start += Math.max(length, 1);
  }
  return [...new Set(resolved)];
}
