import { sql } from 'kysely';
import type { Database } from '../database/database.ts';
import { beginFilling, fillingTable, indexFilling, replaceByFilled } from './filled-index.ts';
import type { SearchedTable } from './search-index.ts';

/** The entry of one record in the search index. */
export interface SearchEntry {
  number: number;
  /** Its tokens, with spaces between. */
  words: string;
  /** There is no entry of this number: what FTS5 would have to look for, it need not. */
  isNew: boolean;
}

/** Entries that are put in order and written together, where they come in none. */
const BATCH_ENTRIES = 20_000;

/** From so many on, the index is given memory to gather them in. */
const MANY_ENTRIES = 5_000;

/** What FTS5 gathers in memory before it writes; by default so little that it mostly merges what it wrote. */
const FTS5_GATHERED_BYTES = 48 * 1024 * 1024;

/** What PostgreSQL gathers before it sorts words into its index; one page at a time otherwise. */
const GIN_GATHERED = '128MB';

/**
 * Gathers the entries of records that are new or changed, and writes them in the order of their
 * numbers: FTS5 writes what it has gathered each time when a number is lower than the one before.
 */
export class SearchEntryWriter {
  readonly #database: Database;
  readonly #table: SearchedTable;
  readonly #isEmpty: boolean;
  /** The table that is written to. */
  #target: string;
  #entries: SearchEntry[] = [];
  #added = 0;
  #lastNumber = Number.NEGATIVE_INFINITY;
  #isForMany = false;

  /** @param isEmpty whether there was no entry before. */
  constructor(database: Database, table: SearchedTable, isEmpty: boolean) {
    this.#database = database;
    this.#table = table;
    this.#isEmpty = isEmpty;
    this.#target = `${table}_search`;
  }

  /** Writes entries at once where they come in order, as from a file that is. */
  async add(entries: readonly SearchEntry[]): Promise<void> {
    for (const { number, words, isNew } of entries) this.#entries.push({ number, words, isNew });
    this.#added += entries.length;
    const isInOrder = this.#entries.every(
      ({ number }, index) => number > (this.#entries[index - 1]?.number ?? this.#lastNumber),
    );
    if (!isInOrder && this.#entries.length < BATCH_ENTRIES) return;
    if (this.#added >= MANY_ENTRIES) await this.#makeRoom();
    await this.#write();
  }

  /**
   * Writes what is left. To be called at the end.
   *
   * @returns what has to be done last before the commit; null for nothing.
   */
  async flush(): Promise<(() => Promise<void>) | null> {
    const [database, table] = [this.#database, this.#table];
    if (this.#added >= MANY_ENTRIES) await this.#makeRoom();
    await this.#write();
    if (this.#target !== `${table}_search`) {
      await indexFilling(database, table);
      return () => replaceByFilled(database, table);
    }
    if (!this.#isForMany || database.engine === 'sqlite') return null;
    // Searches would walk the gathered words one by one. Only the owner of an index may do this.
    await sql`select gin_clean_pending_list(oid) from pg_catalog.pg_class
      where oid = ${`catalog.${table}_search_by_words`}::regclass and pg_has_role(relowner, 'USAGE')`.execute(
      database.kysely,
    );
    return null;
  }

  async #makeRoom(): Promise<void> {
    if (this.#isForMany) return;
    this.#isForMany = true;
    const { engine, kysely } = this.#database;
    if (engine === 'sqlite') {
      await sql`insert into ${sql.raw(`catalog.${this.#table}_search (${this.#table}_search, rank)`)}
        values ('hashsize', ${sql.lit(FTS5_GATHERED_BYTES)})`.execute(kysely);
    } else {
      for (const setting of ['gin_pending_list_limit', 'work_mem', 'maintenance_work_mem']) {
        await sql.raw(`set local ${setting} = '${GIN_GATHERED}'`).execute(kysely);
      }
      if (this.#isEmpty && (await beginFilling(this.#database, this.#table))) this.#target = fillingTable(this.#table);
    }
  }

  async #write(): Promise<void> {
    const entries = this.#entries.sort((a, b) => a.number - b.number);
    this.#entries = [];
    this.#lastNumber = Math.max(this.#lastNumber, entries.at(-1)?.number ?? this.#lastNumber);
    await writeSearchEntries(this.#database, this.#target, entries);
  }
}

/** Entries in one statement. */
const STATEMENT_ENTRIES = 1_000;

/** Writes entries, in the order of their numbers, to a table of the catalog. */
export async function writeSearchEntries(
  database: Database,
  table: string,
  entries: readonly SearchEntry[],
): Promise<void> {
  for (const isNew of [false, true]) {
    const those = entries.filter((entry) => entry.isNew === isNew);
    if (database.runEach === undefined) {
      await writePostgresEntries(database, table, those, isNew);
      continue;
    }
    // One by one: FTS5 writes out all that it has gathered whenever a statement of several rows begins.
    database.runEach(
      `insert ${isNew ? '' : 'or replace'} into catalog.${table} (rowid, words) values (?, ?)`,
      those.map(({ number, words }) => [number, words]),
    );
  }
}

async function writePostgresEntries(
  { kysely }: Database,
  table: string,
  entries: readonly SearchEntry[],
  isNew: boolean,
): Promise<void> {
  for (let start = 0; start < entries.length; start += STATEMENT_ENTRIES) {
    const rows = JSON.stringify(
      entries.slice(start, start + STATEMENT_ENTRIES).map(({ number, words }) => [number, words]),
    );
    await sql`insert into ${sql.raw(`catalog.${table}`)} (number, words)
      select (value ->> 0)::bigint, array_to_tsvector(string_to_array(value ->> 1, ' '))
      from json_array_elements(${rows}::json)
      ${sql.raw(isNew ? '' : 'on conflict (number) do update set words = excluded.words')}`.execute(kysely);
  }
}

/** Drops the entries of records that were removed. */
export async function removeSearchEntries(
  { engine, kysely }: Database,
  table: SearchedTable,
  numbers: readonly number[],
): Promise<void> {
  const index = sql.raw(`catalog.${table}_search`);
  const list = JSON.stringify(numbers);
  if (engine === 'sqlite') {
    await sql`delete from ${index} where rowid in (select value from json_each(${list}))`.execute(kysely);
  } else {
    await sql`delete from ${index} where number in
      (select value::bigint from jsonb_array_elements_text(${list}::jsonb))`.execute(kysely);
  }
}
