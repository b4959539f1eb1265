import { sql, type RawBuilder } from 'kysely';
import { compareBytewise } from '../../bytewise.ts';
import type { OpenDatabase } from '../../database/database.ts';
import { catalogState } from '../../database/revision.ts';
import { firstRow } from '../../database/statement.ts';
import type { FoundRecords } from '../../index/record-index.ts';
import { OtherStateError } from '../../index/statements.ts';
import { Tokenizer } from '../../index/words.ts';

interface Certification {
  readonly abbreviation: string;
  readonly name: string;
  readonly type: string;
  readonly terms: ReadonlySet<string>;
}

/** Whether a list with some filter has a certification. */
export type CertificationCondition = (certification: Certification) => boolean;

interface Certifications {
  /** The catalog state in which they were read. */
  readonly catalog: string;
  /** In order of abbreviation. */
  readonly all: readonly Certification[];
  /** Abbreviations by every accepted spelling. */
  readonly byName: ReadonlyMap<string, string>;
  /** The most comma-separated parts of any name. Bounds the search, so that a long filter value takes linear time. */
  readonly maxParts: number;
}

interface Row {
  readonly catalog: string;
  readonly abbreviation: string | null;
  readonly name: string | null;
  readonly type: string | null;
}

/** All certifications; a single row of nulls if there are none. */
export const readCertifications: RawBuilder<Row> = sql<Row>`
  select state.catalog, certification.abbreviation, certification.name, certification.type
  from (select ${catalogState} as catalog) as state
  left join catalog.certifications as certification on 1 = 1
  order by certification.abbreviation`;

/** Caches all certifications, which are few, once per catalog state. */
export class CertificationList {
  readonly #database: OpenDatabase;
  #cached: Certifications | null = null;

  constructor(database: OpenDatabase) {
    this.#database = database;
  }

  /** Call when another catalog state was seen. */
  forget(): void {
    this.#cached = null;
  }

  /** Finds the abbreviations on the next page of a list. */
  async find(
    conditions: readonly CertificationCondition[],
    after: string | null,
    limit: number,
  ): Promise<FoundRecords> {
    const { catalog, all } = await this.#read();
    const found = all.filter(
      (certification) =>
        (after === null || compareBytewise(certification.abbreviation, after) > 0) &&
        conditions.every((holds) => holds(certification)),
    );
    const positions = found.slice(0, limit).map(({ abbreviation }) => abbreviation);
    return { catalog, positions, hasMore: found.length > limit };
  }

  /**
   * Resolves the value of the `certifications` filter: comma-separated names or abbreviations. A name can contain
   * commas, so the longest match at each position wins. Case is ignored unless two names differ in case only.
   *
   * @param catalog the catalog state to resolve them in.
   * @returns distinct abbreviations; null for a name that matches no certification.
   * @throws OtherStateError if the catalog is in another state by now.
   */
  async resolve(value: string, catalog: string): Promise<readonly (string | null)[]> {
    if (this.#cached?.catalog !== catalog) this.forget();
    const { byName, maxParts, catalog: readIn } = await this.#read();
    if (readIn !== catalog) throw new OtherStateError();
    const parts = value.split(',');
    const resolved = new Set<string | null>();
    for (let start = 0; start < parts.length;) {
      let length = Math.min(maxParts, parts.length - start);
      let found = findName(byName, parts, start, length);
      while (found === undefined && length > 1) found = findName(byName, parts, start, (length -= 1));
      resolved.add(found ?? null);
      start += length;
    }
    return [...resolved];
  }

  async #read(): Promise<Certifications> {
    if (this.#cached !== null) return this.#cached;
    const rows = await this.#database.run('certifications', () => readCertifications, {});
    const tokenizer = new Tokenizer();
    const all = rows.flatMap(({ abbreviation, name, type }) =>
      abbreviation === null || name === null || type === null
        ? []
        : [{ abbreviation, name, type, terms: tokenizer.termsOf([name, abbreviation]) }],
    );
    // Later entries win: an exact spelling over a lower-cased one, and then an abbreviation over a name.
    const byName = new Map([
      ...all.map(({ name, abbreviation }) => [name.toLowerCase(), abbreviation] as const),
      ...all.toReversed().map(({ abbreviation }) => [abbreviation.toLowerCase(), abbreviation] as const),
      ...all.map(({ name, abbreviation }) => [name, abbreviation] as const),
      ...all.map(({ abbreviation }) => [abbreviation, abbreviation] as const),
    ]);
    const maxParts = 1 + Math.max(0, ...[...byName.keys()].map((name) => name.split(',').length - 1));
    return (this.#cached = { catalog: firstRow(rows).catalog, all, byName, maxParts });
  }
}

function findName(
  byName: ReadonlyMap<string, string>,
  parts: readonly string[],
  start: number,
  length: number,
): string | undefined {
  const text = parts
    .slice(start, start + length)
    .join(',')
    .trim();
  return byName.get(text) ?? byName.get(text.toLowerCase());
}
