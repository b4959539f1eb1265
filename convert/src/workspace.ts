import * as sqlite from 'node:sqlite';
import type { CheckRecord } from './import-format.ts';

/** Node 26.11 renames DatabaseSync to Database and warns at the old name; older versions know only the old one. */
const SqliteConnection = ((sqlite as Record<string, unknown>)['Database'] ??
  sqlite.DatabaseSync) as typeof sqlite.DatabaseSync;

/** A part of a contracting process or of a record, as it was read. */
export interface StoredPart {
  form: 'release' | 'compiled' | 'linked' | 'row' | 'mention';
  date: string;
  json: string;
  file: string;
  place: string;
  /** How many equal parts were added; 1 unless stored. */
  times?: number;
}

/** The parts of one process, in the order of their dates. */
export type StoredParts = readonly [StoredPart, ...StoredPart[]];

/**
 * A temporary database that sorts what does not fit into memory: the parts of the input by process or record, and the records of
 * the output by id. Order of input therefore never shows in the output.
 */
export class Workspace {
  readonly check: CheckRecord;
  // Without a name, SQLite deletes the file as soon as it is open: even a killed process leaves nothing.
  readonly #database = new SqliteConnection('');
  readonly #addPart: sqlite.StatementSync;
  readonly #putRecord: sqlite.StatementSync;

  constructor(check: CheckRecord) {
    this.check = check;
    // Nothing here outlives the command.
    this.#database.exec(`
      pragma journal_mode = off; pragma synchronous = off;
      create table part (key text, date text, json text, form text, file text, place text, times integer,
        primary key (key, date, json, form)) without rowid;
      create table record (kind text, id text, rank text, json text, primary key (kind, id)) without rowid;
      begin`);
    this.#addPart = this.#database.prepare(
      'insert into part values (?, ?, ?, ?, ?, ?, 1) on conflict do update set times = times + 1',
    );
    this.#putRecord = this.#database.prepare(
      `insert into record values (?, ?, ?, ?) on conflict (kind, id) do update
         set rank = excluded.rank, json = excluded.json
         where (excluded.rank, excluded.json) > (record.rank, record.json)`,
    );
  }

  addPart(key: string, { form, date, json, file, place }: StoredPart): void {
    this.#addPart.run(key, date, json, form, file, place);
  }

  /** All parts, in the order of their keys and dates. Of equal parts, only the first that was added. */
  *parts(): Generator<StoredPart & { key: string }> {
    const rows = this.#database.prepare('select * from part order by key, date, json').iterate();
    yield* rows as Iterable<unknown> as Iterable<StoredPart & { key: string }>;
  }

  /** Each process with its parts, in the order of its ocid. */
  *processes(): Generator<{ ocid: string; parts: StoredParts }> {
    let process = null as { ocid: string; parts: [StoredPart, ...StoredPart[]] } | null;
    for (const part of this.parts()) {
      if (part.key === process?.ocid) {
        process.parts.push(part);
        continue;
      }
      if (process !== null) yield process;
      process = { ocid: part.key, parts: [part] };
    }
    if (process !== null) yield process;
  }

  /** Adds a record. Of several with one id, the one with the greatest `rank` (a date) is kept. */
  putRecord(kind: string, id: string, rank: string, record: object): void {
    this.#putRecord.run(kind, id, rank, JSON.stringify(record));
  }

  /** The records of a kind as JSON, in the order of their ids. */
  *records(kind: string): Generator<string> {
    const rows = this.#database.prepare('select json from record where kind = ? order by id').iterate(kind);
    for (const { json } of rows as Iterable<unknown> as Iterable<{ json: string }>) yield json;
  }

  close(): void {
    this.#database.close();
  }
}
