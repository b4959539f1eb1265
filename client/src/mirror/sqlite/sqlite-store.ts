import type { DatabaseSync, StatementSync } from 'node:sqlite';
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
  each,
  initialState,
  withEndedListing,
  withReferences,
  type CopyChange,
  type Listing,
  type MirrorState,
  type Position,
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
const LINK_SUPPLIER = 'insert or ignore into contract_suppliers (contract_id, supplier_id) values (?, ?)';
const LINK_CITY_SERVICE = 'insert or ignore into contract_city_services (contract_id, city_service_id) values (?, ?)';
const LOG = 'insert or replace into unreported_changes (kind, id, change) values (?, ?, ?)';

/** A copy in one SQLite file, which others can read at any time. */
export class SqliteStore implements Store {
  readonly #path: string;
  readonly #database: DatabaseSync;
  readonly #unlock: () => void;
  readonly #statements = new Map<string, StatementSync>();
  #state: MirrorState;
  /** As of the transaction. */
  #held: Record<Kind, number>;

  private constructor(path: string, { database, unlock, formerService }: SqliteFile, service: string) {
    this.#path = path;
    this.#database = database;
    this.#unlock = unlock;
    const saved = this.#run(`select value from mirror_state where name = 'state'`).get()?.['value'];
    this.#state =
      typeof saved === 'string' ? (JSON.parse(saved) as MirrorState) : initialState(formerService ?? service);
    this.#held = { ...this.#state.held };
    if (saved !== undefined) return;
    // A copy that was taken over has records.
    this.#held = each(KINDS, (kind) => Number(this.#run(`select count(*) as n from ${TABLES[kind]}`).get()?.['n']));
    this.#save(this.#state);
  }

  /** @throws CopyError if the file cannot be opened, belongs to another program, or is locked by another mirror. */
  static async open(path: string, service: string): Promise<SqliteStore> {
    return new SqliteStore(path, await openSqlite(path), service);
  }

  get state(): MirrorState {
    return this.#state;
  }

  saveState(state: MirrorState): void {
    this.#save(state);
  }

  savePiece(lines: readonly string[], listing: Listing): void {
    this.#save({ ...this.#state, listing }, () => {
      const changes = lines.map(readFeedLine);
      if (listing.isComplete) this.#removeUnlisted(changes, this.#state.listing?.last ?? null, listing);
      for (const { kind, id, record } of changes) {
        if (record === null) this.#remove(kind, id);
        else this.#put(kind, id, record);
      }
    });
  }

  endListing(): void {
    this.#save(withEndedListing(this.#state));
  }

  saveReferences(kind: ReferenceKind, records: readonly string[], etag: string | null): void {
    this.#save(withReferences(this.#state, kind, etag), () => {
      const received = new Map(records.map((record) => [idOf(record), record]));
      for (const { id } of this.#run(`select id from ${TABLES[kind]}`).all())
        if (!received.has(String(id))) this.#remove(kind, String(id));
      for (const [id, record] of received) this.#put(kind, id, record);
    });
  }

  *listUnreported(): Generator<CopyChange, void, undefined> {
    for (const row of this.#run('select kind, id, change from unreported_changes').iterate())
      yield row as unknown as CopyChange;
  }

  forgetUnreported(): void {
    this.#save({ ...this.#state, isFirstCopy: false }, () => this.#run('delete from unreported_changes').run());
  }

  /** Nothing to do: the views evaluate `is_open` at read time. */
  refreshOpen(): number {
    return Infinity;
  }

  close(): void {
    this.#database.close();
    this.#unlock();
  }

  #put(kind: Kind, id: string, record: string): void {
    const text = withoutTime(kind, record);
    // Nearly all records of a first copy are new.
    const held = this.#state.isFirstCopy ? undefined : this.#run(SELECT[kind]).get(id)?.['record'];
    if (held === text) return;
    const isAdded = held === undefined && Number(this.#run(INSERT[kind]).run(text, id).changes) === 1;
    if (!isAdded) this.#run(UPDATE[kind]).run(text, id);
    if (kind === 'contracts') this.#link(id, text);
    this.#note({ kind, id, change: isAdded ? 'added' : 'changed' });
  }

  #remove(kind: Kind, id: string): void {
    const { changes } = this.#run(`delete from ${TABLES[kind]} where id = ?`).run(id);
    if (Number(changes) === 0) return;
    if (kind === 'contracts') this.#unlink(id);
    this.#note({ kind, id, change: 'removed' });
  }

  #note({ kind, id, change }: CopyChange): void {
    if (change !== 'changed') this.#held[kind] += change === 'added' ? 1 : -1;
    if (!this.#state.isFirstCopy) this.#run(LOG).run(kind, id, change);
  }

  /** Removes the records between two positions of a complete listing that it does not have. */
  #removeUnlisted(changes: readonly FeedChange[], from: Position | null, to: Listing): void {
    const isLast = to.watermark !== null;
    const rank = (position: Position | null): number => (position === null ? -1 : FEED_KINDS.indexOf(position.kind));
    for (const [index, kind] of FEED_KINDS.entries()) {
      if (index < rank(from) || (!isLast && index > rank(to.last))) continue;
      const after = from?.kind === kind ? from.id : '';
      const until = !isLast && to.last?.kind === kind ? to.last.id : AFTER_ALL_IDS;
      const held = this.#run(`select id from ${TABLES[kind]} where id > ? and id <= ?`).all(after, until);
      if (held.length === 0) continue;
      const listed = new Set(changes.filter((change) => change.kind === kind).map(({ id }) => id));
      for (const { id } of held) if (!listed.has(String(id))) this.#remove(kind, String(id));
    }
  }

  /** Updates the join tables for a contract. */
  #link(id: string, record: string): void {
    const { suppliers, city_services: cityServices } = JSON.parse(record) as Record<string, readonly { id: string }[]>;
    this.#unlink(id);
    for (const supplier of suppliers ?? []) this.#run(LINK_SUPPLIER).run(id, supplier.id);
    for (const service of cityServices ?? []) this.#run(LINK_CITY_SERVICE).run(id, service.id);
  }

  #unlink(id: string): void {
    this.#run('delete from contract_suppliers where contract_id = ?').run(id);
    this.#run('delete from contract_city_services where contract_id = ?').run(id);
  }

  /** Runs `work` in a transaction that also saves the state. */
  #save(state: MirrorState, work: () => void = () => undefined): void {
    try {
      this.#database.exec('begin immediate');
    } catch (error) {
      if (!isBusy(error)) throw error;
      throw new BusyCopyError(`${this.#path}: another program keeps it locked for writing`, { cause: error });
    }
    try {
      work();
      const saved = { ...state, held: { ...this.#held } };
      this.#run(`insert or replace into mirror_state (name, value) values ('state', ?)`).run(JSON.stringify(saved));
      this.#database.exec('commit');
      this.#state = saved;
    } catch (error) {
      this.#held = { ...this.#state.held };
      try {
        this.#database.exec('rollback');
      } catch {
        // On a full disk, SQLite has already rolled back.
      }
      throw error;
    }
  }

  #run(statement: string): StatementSync {
    let prepared = this.#statements.get(statement);
    if (prepared === undefined) {
      prepared = this.#database.prepare(statement);
      this.#statements.set(statement, prepared);
    }
    return prepared;
  }
}
