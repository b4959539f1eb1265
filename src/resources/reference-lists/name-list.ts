import { sql } from 'kysely';
import type { Scope } from '../../access/scope.ts';
import type { Snapshot } from '../../access/snapshot.ts';
import { isListed, scopeKey, scopeValues } from '../../access/visibility/scope-sql.ts';
import { compareBytewise } from '../../bytewise.ts';
import type { Query } from '../../database/database.ts';
import { isInList, limitParameter as rowLimit, parameter } from '../../database/statement.ts';
import { MAX_ROWS } from '../../index/record-index.ts';
import { scheduler } from '../../fair-scheduler.ts';
import { Tokenizer } from '../../index/words.ts';
import { TABLE_OF, type NamedRefKind } from '../../kinds.ts';

/** Computing their terms takes about two milliseconds. */
const NAMES_AT_ONCE = 250;

const UNRESTRICTED: Scope = { everythingSince: '', leadEntities: new Map(), coops: new Map() };

/** Finds records by words of their names. Caches the terms of all names of a catalog: some 10 MB for 50,000. */
export class NameList {
  readonly #kind: NamedRefKind;
  readonly #tokenizer = new Tokenizer();
  /** In order of id, as far as they have been read. */
  #names = { catalog: '', all: [] as { id: string; termText: string }[], isComplete: false };

  constructor(kind: NamedRefKind) {
    this.#kind = kind;
  }

  /** The first `count` ids after another, or more, of records whose name matches and that the scope shows. */
  async find(snapshot: Snapshot, matches: (termText: string) => boolean, after: string, count: number) {
    const all = await this.#read(snapshot);
    const keys: string[] = [];
    let named: string[] = [];
    // Enough if the scope shows them all.
    let size = Math.min(count, MAX_ROWS);
    for (let index = 0; index < all.length && keys.length < count; index += 1) {
      const { id = '', termText = '' } = all[index] ?? {};
      if (index % MAX_ROWS === 0) await scheduler.turn(snapshot.partner.id);
      if (id > after && matches(termText)) named.push(id);
      if (named.length < size && index < all.length - 1) continue;
      const rows = await snapshot.run(namedRefs(snapshot, this.#kind, after, named.length, named));
      keys.push(...rows.map((row) => row.id).sort(compareBytewise));
      named = [];
      size = MAX_ROWS;
    }
    return keys;
  }

  async #read(snapshot: Snapshot) {
    const { engine, catalog } = snapshot;
    if (this.#names.catalog !== catalog) this.#names = { catalog, all: [], isComplete: false };
    const names = this.#names;
    while (!names.isComplete) {
      const { length } = names.all;
      const after = names.all.at(-1)?.id ?? '';
      const rows = await snapshot.run(namedRefs({ engine, scope: UNRESTRICTED }, this.#kind, after, NAMES_AT_ONCE));
      await scheduler.turn(snapshot.partner.id);
      // Another request can have read them, too.
      if (names.all.length > length) continue;
      rows.sort((one, other) => compareBytewise(one.id, other.id));
      names.all.push(...rows.map(({ id, name }) => ({ id, termText: this.#tokenizer.termText([name]) })));
      names.isComplete = rows.length < NAMES_AT_ONCE;
    }
    return names.all;
  }
}

/**
 * The first records after an id of lead entities or coops that are granted or named by a visible contract, or of all city
 * services. Served by the primary key.
 */
export function namedRefs(
  { engine, scope }: Pick<Snapshot, 'engine' | 'scope'>,
  kind: NamedRefKind,
  after: string,
  rows: number,
  among: readonly string[] | null = null,
): Query<{ id: string; name: string }> {
  const key = scopeKey(kind, scope);
  const table = TABLE_OF[kind];
  const isAmong = among === null ? sql`` : sql`and ${isInList(engine, sql.ref('named.id'), 'ids')}`;
  return {
    statementKey: `${among === null ? '' : 'some '}${table}, ${key}`,
    columns: ['id', 'name'],
    build: () => sql`select named.id, named.name from ${sql.table(`catalog.${table}`)} as named
      where named.id > ${parameter('after')} ${isAmong} and ${isListed(engine, kind, key)}
      order by named.id limit ${rowLimit('rows')}`,
    values: { ...scopeValues(scope), after, rows, ids: among ?? [] },
  };
}
