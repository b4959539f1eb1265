import { sql } from 'kysely';
import type { Snapshot } from '../../access/snapshot.ts';
import { compareBytewise } from '../../bytewise.ts';
import type { Query } from '../../database/database.ts';
import type { CatalogName } from '../../database/revision.ts';
import { Tokenizer } from '../../index/words.ts';

interface Certification {
  readonly abbreviation: string;
  readonly name: string;
  readonly type: string;
  readonly termText: string;
}

/** Whether a list with some filter has a certification. */
export type CertificationCondition = (certification: Certification) => boolean;

interface Certifications {
  readonly catalog: CatalogName;
  /** In order of abbreviation. */
  readonly all: readonly Certification[];
  /** Abbreviations by every accepted spelling. */
  readonly byName: ReadonlyMap<string, string>;
  /** The most comma-separated parts of any name. Bounds the search, so that a long filter value takes linear time. */
  readonly maxParts: number;
}

export const readCertifications: Query<Omit<Certification, 'termText'>> = {
  statementKey: 'certifications',
  columns: ['abbreviation', 'name', 'type'],
  build: () => sql`select abbreviation, name, type from catalog.certifications`,
  values: {},
};

/** Caches all certifications of a catalog, which are few. */
export class CertificationList {
  #cached: Certifications | null = null;

  /** The abbreviations after another that meet all conditions. */
  async find(snapshot: Snapshot, conditions: readonly CertificationCondition[], after: string): Promise<string[]> {
    const { all } = await this.#read(snapshot);
    const found = all.filter((certification) => conditions.every((holds) => holds(certification)));
    return found.map(({ abbreviation }) => abbreviation).filter((key) => compareBytewise(key, after) > 0);
  }

  /**
   * Resolves the value of the `certifications` filter: comma-separated names or abbreviations. A name can contain
   * commas, so the longest match at each position wins. Case is ignored unless two names differ in case only.
   *
   * @returns distinct abbreviations; null for a name that matches no certification.
   */
  async resolve(value: string, snapshot: Snapshot): Promise<readonly (string | null)[]> {
    const { byName, maxParts } = await this.#read(snapshot);
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

  async #read(snapshot: Snapshot): Promise<Certifications> {
    const { catalog } = snapshot;
    if (this.#cached?.catalog === catalog) return this.#cached;
    const rows = await snapshot.run(readCertifications);
    const tokenizer = new Tokenizer();
    const all = rows
      .map((row) => ({ ...row, termText: tokenizer.termText([row.name, row.abbreviation]) }))
      .sort((one, other) => compareBytewise(one.abbreviation, other.abbreviation));
    // Later entries win: an exact spelling over a lower-cased one, and then an abbreviation over a name.
    const byName = new Map([
      ...all.map(({ name, abbreviation }) => [name.toLowerCase(), abbreviation] as const),
      ...all.toReversed().map(({ abbreviation }) => [abbreviation.toLowerCase(), abbreviation] as const),
      ...all.map(({ name, abbreviation }) => [name, abbreviation] as const),
      ...all.map(({ abbreviation }) => [abbreviation, abbreviation] as const),
    ]);
    const maxParts = 1 + Math.max(0, ...[...byName.keys()].map((name) => name.split(',').length - 1));
    return (this.#cached = { catalog, all, byName, maxParts });
  }
}

function findName(byName: ReadonlyMap<string, string>, parts: readonly string[], start: number, length: number) {
  const text = parts
    .slice(start, start + length)
    .join(',')
    .trim();
  return byName.get(text) ?? byName.get(text.toLowerCase());
}
