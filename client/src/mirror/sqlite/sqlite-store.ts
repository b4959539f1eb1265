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
  initialState,
  NO_CHANGES,
  withChanges,
  withEndedListing,
  withReferences,
  type CopyChange,
  type Listing,
  type MirrorState,
} from '../state.ts';
import { BusyCopyError, type ReferenceList, type Store } from '../store.ts';
import { isBusy, openSqlite, type SqliteFile } from './sqlite-file.ts';
import { TABLES } from './sqlite-layout.ts';

/** A position in the feed. */
type Position = Listing['last'];

/** Not before any id. */
const AFTER_ALL_IDS = '\u{10FFFF}';

/** A statement for each kind, made once: a new string for each record would cost as much as a third of its insertion. */
const statements = (of: (table: string) => string): Readonly<Record<Kind, string>> =>
  Object.fromEntries(KINDS.map((kind) => [kind, of(TABLES[kind])])) as Record<Kind, string>;
const SELECT = statements((table) => `select record from ${table} where id = ?`);
const UPSERT = statements(
  (table) => `insert into ${table} (id, record) values (?, ?) on conflict (id) do update set record = excluded.record`,
);
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
  /** Those of the transaction. */
  #changes: CopyChange[] = [];

  private constructor(path: string, { database, unlock, formerService }: SqliteFile, service: string) {
    this.#path = path;
    this.#database = database;
    this.#unlock = unlock;
    const saved = this.#run(`select value from mirror_state where name = 'state'`).get()?.['value'];
    this.#state =
      typeof saved === 'string' ? (JSON.parse(saved) as MirrorState) : initialState(formerService ?? service);
    if (saved === undefined) this.saveState(this.#state);
  }

  /** @throws CopyError if the file cannot be opened, belongs to another program, or is locked by another mirror. */
  static async open(path: string, service: string): Promise<SqliteStore> {
    return new SqliteStore(path, await openSqlite(path), service);
  }

  get state(): MirrorState {
    return this.#state;
  }

  saveState(state: MirrorState): void {
    this.#transaction(() => state);
  }

  savePiece(lines: readonly string[], listing: Listing): void {
    this.#transaction(() => {
      const changes = lines.map(readFeedLine);
      if (listing.isComplete) this.#removeUnlisted(changes, this.#state.listing?.last ?? null, listing);
      for (const { kind, id, record } of changes) {
        if (record === null) this.#remove(kind, id);
        else this.#put(kind, id, record);
      }
      return { ...this.#state, listing };
    });
  }

  endListing(): void {
    this.saveState(withEndedListing(this.#state));
  }

  saveReferences(kind: ReferenceKind, { records, etag }: ReferenceList): void {
    this.#transaction(() => {
      const gone = new Set(
        this.#run(`select id from ${TABLES[kind]}`)
          .all()
          .map(({ id }) => String(id)),
      );
      for (const record of records) {
        const id = idOf(kind, record);
        this.#put(kind, id, record);
        gone.delete(id);
      }
      for (const id of gone) this.#remove(kind, id);
      return withReferences(this.#state, kind, etag);
    });
  }

  countHeld(): MirrorState['held'] {
    const count = (kind: Kind): number =>
      Number(this.#run(`select count(*) as held from ${TABLES[kind]}`).get()?.['held']);
    return Object.fromEntries(KINDS.map((kind) => [kind, count(kind)])) as Record<Kind, number>;
  }

  *listUnreported(): Generator<CopyChange, void, undefined> {
    for (const row of this.#run('select kind, id, change from unreported_changes').iterate())
      yield row as unknown as CopyChange;
  }

  forgetUnreported(): void {
    this.#transaction(() => {
      this.#run('delete from unreported_changes').run();
      return { ...this.#state, unreported: NO_CHANGES };
    });
  }

  /** Nothing to do: the views evaluate `is_open` at read time. */
  refreshOpen(): null {
    return null;
  }

  close(): void {
    this.#database.close();
    this.#unlock();
  }

  /** Stores a record. A first copy is not compared with anything. */
  #put(kind: Kind, id: string, record: string): void {
    const text = withoutTime(kind, record);
    if (!this.#state.isFirstCopy) {
      const held = this.#run(SELECT[kind]).get(id)?.['record'];
      if (held === text) return;
      this.#changes.push({ kind, id, change: held === undefined ? 'added' : 'changed' });
    }
    this.#run(UPSERT[kind]).run(id, text);
    if (kind === 'contracts') this.#link(id, text);
  }

  #remove(kind: Kind, id: string): void {
    const { changes } = this.#run(`delete from ${TABLES[kind]} where id = ?`).run(id);
    if (Number(changes) === 0) return;
    if (kind === 'contracts') this.#unlink(id);
    if (!this.#state.isFirstCopy) this.#changes.push({ kind, id, change: 'removed' });
  }

  /** Removes the records between two positions of a complete listing that it does not have. */
  #removeUnlisted(changes: readonly FeedChange[], from: Position, to: Listing): void {
    const isLast = to.watermark !== null;
    const rank = (position: Position): number => (position === null ? -1 : FEED_KINDS.indexOf(position.kind));
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

  /** Runs `work` in a transaction, and saves the state that it returns and its changes in the same transaction. */
  #transaction(work: () => MirrorState): void {
    try {
      this.#database.exec('begin immediate');
    } catch (error) {
      if (!isBusy(error)) throw error;
      throw new BusyCopyError(`${this.#path}: another program keeps it locked for writing`, { cause: error });
    }
    this.#changes = [];
    try {
      const state = withChanges(work(), this.#changes);
      for (const { kind, id, change } of this.#changes) this.#run(LOG).run(kind, id, change);
      this.#run(`insert or replace into mirror_state (name, value) values ('state', ?)`).run(JSON.stringify(state));
      this.#database.exec('commit');
      this.#state = state;
    } catch (error) {
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
