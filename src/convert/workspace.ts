import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { StatementSync } from 'node:sqlite';
import { SqliteConnection } from '../database/sqlite/sqlite-files.ts';

/** A part of a contracting process, as it was read. */
export interface StoredPart {
  form: 'release' | 'compiled' | 'linked';
  date: string;
  json: string;
  file: string;
  place: string;
}

/** The parts of one process, in the order of their dates. */
export type StoredParts = readonly [StoredPart, ...StoredPart[]];

/**
 * A temporary database that sorts what does not fit into memory: the parts of the input by process, and the records of
 * the output by id. Order of input therefore never shows in the output.
 */
export class Workspace {
  readonly #folder = mkdtempSync(join(tmpdir(), 'pds-convert-'));
  readonly #database = new SqliteConnection(join(this.#folder, 'work.sqlite'));
  readonly #addPart: StatementSync;
  readonly #putRecord: StatementSync;

  constructor() {
    process.once('exit', this.#remove);
    // Nothing here outlives the command.
    this.#database.exec(`
      pragma journal_mode = off; pragma synchronous = off;
      create table part (ocid text, form text, date text, json text, file text, place text,
        primary key (ocid, form, date, json)) without rowid;
      create table record (kind text, id text, rank text, json text, primary key (kind, id)) without rowid;
      begin`);
    this.#addPart = this.#database.prepare('insert or ignore into part values (?, ?, ?, ?, ?, ?)');
    this.#putRecord = this.#database.prepare(
      `insert into record values (?, ?, ?, ?) on conflict (kind, id) do update
         set rank = excluded.rank, json = excluded.json
         where (excluded.rank, excluded.json) > (record.rank, record.json)`,
    );
  }

  readonly #remove = (): void => rmSync(this.#folder, { recursive: true, force: true });

  addPart(ocid: string, { form, date, json, file, place }: StoredPart): void {
    this.#addPart.run(ocid, form, date, json, file, place);
  }

  /** Each process with its parts, in the order of its ocid. */
  *processes(): Generator<{ ocid: string; parts: StoredParts }> {
    const rows = this.#database.prepare('select * from part order by ocid, date, json').iterate();
    let process = null as { ocid: string; parts: [StoredPart, ...StoredPart[]] } | null;
    for (const row of rows as Iterable<unknown> as Iterable<StoredPart & { ocid: string }>) {
      if (row.ocid === process?.ocid) {
        process.parts.push(row);
        continue;
      }
      if (process !== null) yield process;
      process = { ocid: row.ocid, parts: [row] };
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
    process.off('exit', this.#remove);
    this.#remove();
  }
}
