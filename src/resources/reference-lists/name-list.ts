import { sql } from 'kysely';
import type { Snapshot } from '../../access/snapshot.ts';
import { isListed, scopeKey, scopeValues } from '../../access/visibility/scope-sql.ts';
import { compareBytewise } from '../../bytewise.ts';
import type { Query } from '../../database/database.ts';
import type { CatalogName } from '../../database/revision.ts';
import { isInList, limitParameter as rowLimit, parameter } from '../../database/statement.ts';
import { MAX_ROWS, pauses } from '../../index/record-index.ts';
import { Tokenizer } from '../../index/words.ts';
import { TABLE_OF, type NamedRefKind } from '../../kinds.ts';

/** All names of a catalog, in the order of their ids. */
interface Names {
  readonly catalog: CatalogName;
  readonly ids: string[];
  readonly termTexts: string[];
  isComplete: boolean;
}

/**
 * Finds records of a reference list by the words of their names. Caches the terms of all names of a catalog: some 10 MB
 * for 50,000, read when the first is searched after a release.
 */
export class NameList {
  readonly #kind: NamedRefKind;
  readonly #tokenizer = new Tokenizer();
  #names: Names | null = null;

  constructor(kind: NamedRefKind) {
    this.#kind = kind;
  }

  /** The first ids after another of the records whose names match and that the scope shows. */
  async find(
    snapshot: Snapshot,
    matches: (termText: string) => boolean,
    after: string,
    limit: number,
  ): Promise<{ keys: string[]; hasMore: boolean }> {
    const { ids, termTexts } = await this.#read(snapshot);
    const pause = pauses();
    const keys: string[] = [];
    let named: string[] = [];
    // A partner that sees everything needs no more than these.
    let size = Math.min(limit + 1, MAX_ROWS);
    for (let index = 0; index < ids.length && keys.length <= limit; index += 1) {
      const id = ids[index] ?? '';
      if (index % MAX_ROWS === 0) await pause();
      if (id > after && matches(termTexts[index] ?? '')) named.push(id);
      if (named.length < size && (index < ids.length - 1 || named.length === 0)) continue;
      const listed = new Set((await snapshot.run(listedAmong(snapshot, this.#kind, named))).map((row) => row.id));
      keys.push(...named.filter((each) => listed.has(each)));
      named = [];
      size = MAX_ROWS;
    }
    return { keys: keys.slice(0, limit), hasMore: keys.length > limit };
  }

  async #read(snapshot: Snapshot): Promise<Names> {
    const { catalog } = snapshot;
    if (this.#names?.catalog !== catalog) this.#names = { catalog, ids: [], termTexts: [], isComplete: false };
    const names = this.#names;
    const pause = pauses();
    while (!names.isComplete) {
      const after = names.ids.at(-1) ?? '';
      const rows = await snapshot.run(namesAfter(this.#kind, after));
      await pause();
      // Another request can have read them too.
      if (names.isComplete || after !== (names.ids.at(-1) ?? '')) continue;
      for (const { id, name } of rows.sort((one, other) => compareBytewise(one.id, other.id))) {
        names.ids.push(id);
        names.termTexts.push(this.#tokenizer.termText([name]));
      }
      names.isComplete = rows.length < NAMES_AT_ONCE;
    }
    return names;
  }
}

/** Their terms take about two milliseconds. */
const NAMES_AT_ONCE = 250;

/** The next names of a catalog, whoever can see them. Served by the primary key. */
export function namesAfter(kind: NamedRefKind, after: string): Query<{ id: string; name: string }> {
  const table = TABLE_OF[kind];
  return {
    statementKey: `names of ${table}`,
    columns: ['id', 'name'],
    build: () => sql`select id, name from ${sql.table(`catalog.${table}`)}
      where id > ${parameter('after')} order by id limit ${rowLimit('rows')}`,
    values: { after, rows: NAMES_AT_ONCE },
  };
}

/** Those of some lead entities, coops or city services that the scope shows. Served by the primary key. */
export function listedAmong(
  { engine, scope }: Pick<Snapshot, 'engine' | 'scope'>,
  kind: NamedRefKind,
  ids: readonly string[],
): Query<{ id: string }> {
  const key = scopeKey(kind, scope);
  const table = TABLE_OF[kind];
  return {
    statementKey: `${table} among ids, ${key}`,
    columns: ['id'],
    build: () => sql`select named.id from ${sql.table(`catalog.${table}`)} as named
      where ${isInList(engine, sql.ref('named.id'), 'ids')} and ${isListed(engine, kind, key)}`,
    values: { ...scopeValues(scope), ids },
  };
}
