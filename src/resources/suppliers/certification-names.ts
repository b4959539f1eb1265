import { sql } from 'kysely';
import type { OpenDatabase } from '../../database/database.ts';
import { catalogState } from '../../database/revision.ts';

/** The certifications that a filter names. */
export interface NamedCertifications {
  /** The state of the catalog when the names were read: what is asked with them has to be read in the same. */
  readonly asOf: string;
  /** Abbreviations, each once; null for what no certification is called, which no supplier holds. */
  readonly abbreviations: readonly (string | null)[];
}

interface Names {
  readonly asOf: string;
  /** Abbreviations by what is written for them. */
  readonly known: ReadonlyMap<string, string>;
  /** No name has more parts between commas, so that a long list costs no more than its length. */
  readonly mostParts: number;
}

interface NameRow {
  readonly as_of: string;
  readonly abbreviation: string | null;
  readonly name: string | null;
}

/** Knows the names of the certifications, read once for each state of the catalog. */
export class CertificationNames {
  readonly #database: OpenDatabase;
  #kept: Names | null = null;

  constructor(database: OpenDatabase) {
    this.#database = database;
  }

  /**
   * Resolves the value of the `certifications` filter: names or abbreviations, comma-separated.
   * A name may hold commas itself, so at each place the longest one that fits is taken. Case
   * counts only where two differ by nothing else.
   *
   * @param isFresh true forgets what was read before: it was read in another state of the catalog.
   */
  async resolve(value: string, isFresh: boolean): Promise<NamedCertifications> {
    if (isFresh) this.#kept = null;
    const { asOf, known, mostParts } = (this.#kept ??= await this.#read());
    const parts = value.split(',');
    const resolved = new Set<string | null>();
    for (let start = 0; start < parts.length;) {
      let length = Math.min(mostParts, parts.length - start);
      let found = find(known, parts, start, length);
      while (found === undefined && length > 1) found = find(known, parts, start, (length -= 1));
      resolved.add(found ?? null);
      start += length;
    }
    return { asOf, abbreviations: [...resolved] };
  }

  async #read(): Promise<Names> {
    const all = await this.#database.run<NameRow>(
      'names of certifications',
      () => sql<NameRow>`select seen.as_of, certification.abbreviation, certification.name
        from (select ${catalogState} as as_of) as seen
        left join catalog.certifications as certification on 1 = 1
        order by certification.abbreviation`,
      {},
    );
    const rows = all.flatMap(({ abbreviation, name }) =>
      abbreviation === null || name === null ? [] : [{ abbreviation, name }],
    );
    // Later entries win: the exact spelling over a folded one, an abbreviation over a name.
    const known = new Map([
      ...rows.map(({ name, abbreviation }) => [name.toLowerCase(), abbreviation] as const),
      ...rows.toReversed().map(({ abbreviation }) => [abbreviation.toLowerCase(), abbreviation] as const),
      ...rows.map(({ name, abbreviation }) => [name, abbreviation] as const),
      ...rows.map(({ abbreviation }) => [abbreviation, abbreviation] as const),
    ]);
    const mostParts = 1 + Math.max(0, ...[...known.keys()].map((name) => name.split(',').length - 1));
    return { asOf: all[0]?.as_of ?? '', known, mostParts };
  }
}

function find(
  known: ReadonlyMap<string, string>,
  parts: readonly string[],
  start: number,
  length: number,
): string | undefined {
  const text = parts
    .slice(start, start + length)
    .join(',')
    .trim();
  return known.get(text) ?? known.get(text.toLowerCase());
}
