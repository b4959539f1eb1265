import type { StatementSync } from 'node:sqlite';
import {
  FEED_KINDS,
  idOf,
  KINDS,
  readFeedLine,
  withoutTime,
  type FeedChange,
  type Kind,
  type ReferenceKind,
} from '../kinds.ts';
import {
  BusyCopyError,
  changeOf,
  each,
  initialState,
  type ChangeCount,
  type CopyChange,
  type Listing,
  type MirrorState,
  type Store,
} from '../store.ts';
import { isBusy, openSqlite, type SqliteFile } from './sqlite-file.ts';
import { TABLES } from './sqlite-layout.ts';

/** Not before any id. */
const AFTER_ALL_IDS = '\u{10FFFF}';

/** Statements for each kind, made once: a new string for each record would cost as much as a third of its insertion. */
const SELECT = each(KINDS, (kind) => `select record from ${TABLES[kind]} where id = ?`);
const INSERT = each(KINDS, (kind) => `insert or ignore into ${TABLES[kind]} (record, id) values (?, ?)`);
const UPDATE = each(KINDS, (kind) => `update ${TABLES[kind]} set record = ? where id = ?`);
const UNLINK = ['suppliers', 'city_services'].map((field) => `delete from contract_${field} where contract_id = ?`);
const LINK = ['suppliers', 'city_services'].map(
  (field) => `insert or ignore into contract_${field} select ?, value ->> 'id' from json_each(?, '$.${field}')`,
);
const NOTED = 'select before from unreported_changes where kind = ? and id = ?';
const NOTE = 'insert or replace into unreported_changes (kind, id, change, before) values (?, ?, ?, ?)';
const FORGET = 'delete from unreported_changes where kind = ? and id = ?';

/** A copy in one SQLite file, which others can read at any time. */
export class SqliteStore implements Store {
  readonly #file: SqliteFile;
  readonly #statements = new Map<string, StatementSync>();
  #state: MirrorState;
  /** As of the transaction. */
  #held: Record<Kind, number>;

  private constructor(file: SqliteFile, service: string) {
    this.#file = file;
    const value = this.#run(`select value from mirror_state where name = 'state'`).get()?.['value'] ?? '{}';
    const saved = JSON.parse(String(value)) as Partial<MirrorState>;
    // A copy that was taken over has records.
    const count = (kind: Kind): number => Number(this.#run(`select count(*) as n from ${TABLES[kind]}`).get()?.['n']);
    this.#held = { ...(saved.held ?? each(KINDS, count)) };
    // Not saved before the service has responded: its URL may be mistyped.
    this.#state = { ...initialState(service), ...saved, held: { ...this.#held } };
  }

  /** @throws CopyError if the file cannot be opened, belongs to another program, or is locked by another mirror. */
  static async open(path: string, service: string): Promise<SqliteStore> {
    return new SqliteStore(await openSqlite(path), service);
  }

  get state(): MirrorState {
    return this.#state;
  }

  /** Runs `work` in the transaction that saves the state. */
  saveState(state: MirrorState, work: () => void = () => undefined): void {
    try {
      this.#file.database.exec('begin immediate');
    } catch (error) {
      if (!isBusy(error)) throw error;
      throw new BusyCopyError(`${this.#file.path}: another program keeps it locked for writing`, { cause: error });
    }
    try {
      work();
      const saved = { ...state, held: { ...this.#held } };
      this.#run(`insert or replace into mirror_state (name, value) values ('state', ?)`).run(JSON.stringify(saved));
      this.#file.database.exec('commit');
      this.#state = saved;
    } catch (error) {
      this.#held = { ...this.#state.held };
      try {
        this.#file.database.exec('rollback');
      } catch {
        // On a full disk, SQLite has already rolled back.
      }
      throw error;
    }
  }

  savePiece(lines: readonly string[], listing: Listing): void {
    this.saveState({ ...this.#state, listing }, () => {
      const changes = lines.map(readFeedLine);
      if (listing.isComplete) this.#removeUnlisted(changes, this.#state.listing?.last ?? null, listing);
      for (const { kind, id, record } of changes) {
        if (record === null) this.#remove(kind, id);
        else this.#put(kind, id, record);
      }
    });
  }

  endListing(state: MirrorState): void {
    this.saveState(state);
  }

  saveReferences(kind: ReferenceKind, records: readonly string[], state: MirrorState): void {
    this.saveState(state, () => {
      const received = new Map(records.map((record) => [idOf(record), record]));
      for (const { id } of this.#run(`select id from ${TABLES[kind]}`).all())
        if (!received.has(String(id))) this.#remove(kind, String(id));
      for (const [id, record] of received) this.#put(kind, id, record);
    });
  }

  *listUnreported(): Generator<CopyChange, void, undefined> {
    const rows: Iterable<unknown> = this.#run('select kind, id, change, before from unreported_changes').iterate();
    for (const change of rows as Iterable<Omit<CopyChange, 'record'>>)
      yield { ...change, record: this.#recordOf(change.kind, change.id) };
  }

  countUnreported(): Iterable<ChangeCount> {
    const counts = 'select kind, change, count(*) as count from unreported_changes group by kind, change';
    return this.#run(counts).all() as Iterable<unknown> as Iterable<ChangeCount>;
  }

  forgetUnreported(): void {
    this.saveState({ ...this.#state, isFirstCopy: false }, () => this.#run('delete from unreported_changes').run());
  }

  /** Nothing to do: the views evaluate `is_open` at read time. */
  refreshOpen(): number {
    return Infinity;
  }

  close(): void {
    this.#file.database.close();
    this.#file.unlock();
  }

  #put(kind: Kind, id: string, record: string): void {
    const text = withoutTime(kind, record);
    // Nearly all records of a first copy are new.
    const before = this.#state.isFirstCopy ? null : this.#recordOf(kind, id);
    if (before === text) return;
    const isAdded = before === null && Number(this.#run(INSERT[kind]).run(text, id).changes) === 1;
    if (!isAdded) this.#run(UPDATE[kind]).run(text, id);
    if (kind === 'contracts') this.#link(id, text);
    if (isAdded) this.#held[kind] += 1;
    this.#note(kind, id, before, text);
  }

  #remove(kind: Kind, id: string): void {
    const before = this.#recordOf(kind, id);
    if (before === null) return;
    this.#run(`delete from ${TABLES[kind]} where id = ?`).run(id);
    if (kind === 'contracts') this.#link(id, null);
    this.#held[kind] -= 1;
    this.#note(kind, id, before, null);
  }

  #recordOf(kind: Kind, id: string): string | null {
    return (this.#run(SELECT[kind]).get(id)?.['record'] ?? null) as string | null;
  }

  /** Notes a change for the next report. Of several changes, it is the one from the last report to now. */
  #note(kind: Kind, id: string, before: string | null, record: string | null): void {
    if (this.#state.isFirstCopy) return;
    const noted = this.#run(NOTED).get(kind, id);
    const reported = noted === undefined ? before : (noted['before'] as string | null);
    if (reported === record) this.#run(FORGET).run(kind, id);
    else this.#run(NOTE).run(kind, id, changeOf(reported, record), reported);
  }

  /** Removes the records between two positions of a complete listing that it does not have. */
  #removeUnlisted(changes: readonly FeedChange[], from: FeedChange | null, to: Listing): void {
    const isLast = to.watermark !== null;
    const indexOf = (position: FeedChange | null): number =>
      position === null ? -1 : FEED_KINDS.indexOf(position.kind);
    for (const kind of FEED_KINDS.slice(Math.max(0, indexOf(from)), isLast ? undefined : indexOf(to.last) + 1)) {
      const after = from?.kind === kind ? from.id : '';
      const upTo = !isLast && to.last?.kind === kind ? to.last.id : AFTER_ALL_IDS;
      const held = this.#run(`select id from ${TABLES[kind]} where id > ? and id <= ?`).all(after, upTo);
      if (held.length === 0) continue;
      const listed = new Set(changes.filter((change) => change.kind === kind).map(({ id }) => id));
      for (const { id } of held) if (!listed.has(String(id))) this.#remove(kind, String(id));
    }
  }

  /** Updates the join tables for a contract, which is null if it was removed. */
  #link(id: string, record: string | null): void {
    for (const statement of UNLINK) this.#run(statement).run(id);
    if (record !== null) for (const statement of LINK) this.#run(statement).run(id, record);
  }

  #run(statement: string): StatementSync {
    let prepared = this.#statements.get(statement);
    if (prepared === undefined) {
      prepared = this.#file.database.prepare(statement);
      this.#statements.set(statement, prepared);
    }
    return prepared;
  }
}
