import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { comparable, idOf, isServedOpen, type Kind, type ListedRecord } from '../kinds.ts';
import { isBusy, openSqlite, type SqliteFile } from './sqlite-file.ts';
import { DUE_DETAILS, OTHER_DETAILS, TABLES, UNREAD_DETAILS } from './sqlite-layout.ts';
import { initialState, withCompletedWalk, withKind, type MirrorState, type Walk } from '../state.ts';
import {
  BusyCopyError,
  NEVER_READ_A_RUN,
  shareOf,
  type Changes,
  type DetailOutcome,
  type DueDetail,
  type DueOptions,
  type Store,
} from '../store.ts';

/** Counts of the listing in progress, saved with it so that they survive when a later run resumes it. */
type Counts = Pick<Changes, 'added' | 'changed'>;

/** A copy in one SQLite file, which others can read at any time. */
export class SqliteStore implements Store {
  readonly #path: string;
  readonly #database: DatabaseSync;
  readonly #unlock: () => void;
  readonly #statements = new Map<string, StatementSync>();
  #state: MirrorState;

  private constructor(path: string, { database, unlock }: SqliteFile, service: string) {
    this.#path = path;
    this.#database = database;
    this.#unlock = unlock;
    this.#state = (this.#read('state') as MirrorState | null) ?? initialState(service);
  }

  /** @throws CopyError if the file cannot be opened, belongs to another program, or is locked by another mirror. */
  static async open(path: string, service: string): Promise<SqliteStore> {
    return new SqliteStore(path, await openSqlite(path), service);
  }

  get state(): MirrorState {
    return this.#state;
  }

  async saveState(state: MirrorState): Promise<void> {
    this.#transaction(() => state);
  }

  async savePage(kind: Kind, records: readonly ListedRecord[], walk: Walk): Promise<void> {
    const table = TABLES[kind];
    const isFirstCopy = this.#state.kinds[kind].watermark === null;
    this.#transaction(() => {
      let { added, changed } = this.#countsOf(kind, walk);
      for (const record of records) {
        const id = idOf(kind, record);
        const text = comparable(kind, record);
        const held = this.#run(`select record from ${table} where id = ?`).get(id);
        const isSame = held?.['record'] === text;
        if (held === undefined) added += 1;
        else if (!isSame) changed += 1;
        if (isSame) this.#run(`update ${table} set walk = ? where id = ?`).run(walk.number, id);
        else
          this.#run(
            `insert into ${table} (id, record, walk) values (?, ?, ?)
             on conflict (id) do update set record = excluded.record, walk = excluded.walk`,
          ).run(id, text, walk.number);
        // An incremental listing returns only changed records, but the change may be visible only in the detail.
        const isDue = walk.type === 'changes' || (!isSame && !isFirstCopy) || isServedOpen(record);
        if (kind === 'solicitations' && isDue) this.#run(`update ${table} set detail_due = 1 where id = ?`).run(id);
      }
      this.#write(`counts of ${kind}`, { walk: walk.number, added, changed });
      return withKind(this.#state, kind, { walk, walks: walk.number });
    });
  }

  async completeWalk(kind: Kind): Promise<Changes> {
    const { walk } = this.#state.kinds[kind];
    if (walk === null) throw new Error(`${kind}: no listing is in progress`);
    const counts = this.#countsOf(kind, walk);
    let removed = 0;
    this.#transaction(() => {
      if (walk.type === 'full')
        removed = Number(this.#run(`delete from ${TABLES[kind]} where walk < ?`).run(walk.number).changes);
      this.#run('delete from mirror_state where name = ?').run(`counts of ${kind}`);
      return withCompletedWalk(this.#state, kind, walk);
    });
    return { ...counts, removed };
  }

  async dropKind(kind: Kind): Promise<number> {
    let dropped = 0;
    this.#transaction(() => {
      dropped = Number(this.#run(`delete from ${TABLES[kind]}`).run().changes);
      return withKind(this.#state, kind, { watermark: null, walk: null });
    });
    return dropped;
  }

  async countHeld(kind: Kind): Promise<number> {
    return Number(this.#run(`select count(*) as held from ${TABLES[kind]}`).get()?.['held']);
  }

  async listDueDetails(options: DueOptions): Promise<DueDetail[]> {
    const now = new Date(options.nowMs).toISOString();
    const share = shareOf(await this.countHeld('solicitations'), options, this.#state.detailsAt);
    const list = (statement: string, parameters: Record<string, SQLInputValue>): DueDetail[] =>
      this.#run(statement).all(parameters) as unknown as DueDetail[];
    const due = list(DUE_DETAILS, { now });
    const unread = list(UNREAD_DETAILS, { now, most: Math.max(NEVER_READ_A_RUN, share) });
    const others = list(OTHER_DETAILS, { now, most: Math.max(0, share - unread.length) });
    return [...due, ...unread, ...others];
  }

  async saveDetail(id: string, outcome: DetailOutcome, nowMs: number): Promise<boolean> {
    let isChanged = false;
    this.#transaction(() => {
      if (outcome.type === 'gone') {
        isChanged = true;
        this.#run('delete from stored_solicitations where id = ?').run(id);
        return this.#state;
      }
      const readAt = new Date(nowMs).toISOString();
      if (outcome.type === 'received') {
        const text = comparable('solicitations', outcome.detail);
        isChanged = this.#run('select detail from stored_details where id = ?').get(id)?.['detail'] !== text;
        this.#run(
          `insert or replace into stored_details (id, etag, read_at, was_open, detail) values (?, ?, ?, ?, ?)`,
        ).run(id, outcome.etag, readAt, isServedOpen(outcome.detail) ? 1 : 0, text);
      } else this.#run('update stored_details set read_at = ? where id = ?').run(readAt, id);
      this.#run('update stored_solicitations set detail_due = 0 where id = ?').run(id);
      return this.#state;
    });
    return isChanged;
  }

  async completeDetails(nowMs: number): Promise<void> {
    await this.saveState({ ...this.#state, detailsAt: new Date(nowMs).toISOString() });
  }

  /** Nothing to do: the views evaluate `is_open` at read time. */
  async refreshOpen(): Promise<null> {
    return null;
  }

  async close(): Promise<void> {
    this.#database.close();
    this.#unlock();
  }

  #countsOf(kind: Kind, { number }: Walk): Counts {
    const counts = this.#read(`counts of ${kind}`) as (Counts & { walk: number }) | null;
    return counts?.walk === number ? { added: counts.added, changed: counts.changed } : { added: 0, changed: 0 };
  }

  /** Runs `work` in a transaction, and saves the state it returns in the same transaction. */
  #transaction(work: () => MirrorState): void {
    try {
      this.#database.exec('begin immediate');
    } catch (error) {
      if (!isBusy(error)) throw error;
      throw new BusyCopyError(`${this.#path}: another program keeps it locked for writing`, { cause: error });
    }
    try {
      const state = work();
      if (state !== this.#state) this.#write('state', state);
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

  /** Null if there is no such entry. */
  #read(name: string): unknown {
    const value = this.#run('select value from mirror_state where name = ?').get(name)?.['value'];
    return typeof value === 'string' ? (JSON.parse(value) as unknown) : null;
  }

  #write(name: string, value: object): void {
    this.#run('insert or replace into mirror_state (name, value) values (?, ?)').run(name, JSON.stringify(value));
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
