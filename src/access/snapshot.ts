import { hash } from 'node:crypto';
import { sql, type RawBuilder } from 'kysely';
import type {
  Engine,
  OpenDatabase,
  ParameterValues,
  Query,
  ReadSource,
  Texts,
  TextsToRead,
} from '../database/database.ts';
import {
  catalogName,
  lastScope,
  revision,
  timestampOf,
  type CatalogName,
  type EventName,
  type Revision,
} from '../database/revision.ts';
import { firstRow, parameter } from '../database/statement.ts';
import { addMilliseconds, EPOCH, latestOf } from '../timestamp.ts';
import { currentScope } from './partner-records.ts';
import type { Partner, Scope } from './scope.ts';

/** The end of the log, as one partner sees it. */
export interface Head {
  readonly catalog: CatalogName;
  /** The last change of what the partner can see. */
  readonly scope: EventName;
  /** The last event of all. */
  readonly revision: Revision;
}

/** The head of every statement that serves. Uses the parameter `partner_id`. */
export const selectHead: RawBuilder<Head> = sql<Head>`select ${catalogName} as catalog,
  ${lastScope(parameter('partner_id'))} as scope, ${revision} as revision`;

/** A head, and the partner's scope as of its event `scope`, for `parseScope`. Empty for a deleted partner. */
export interface HeadWithScope extends Head {
  readonly scope_text: string;
}

/** Not part of each statement: PostgreSQL would take a tenth more time for it, though it is hardly ever needed. */
export const selectHeadWithScope: RawBuilder<HeadWithScope> = sql<HeadWithScope>`select head.*, ${currentScope} as scope_text
  from (${selectHead}) as head`;

/** The head, in a row of its own, and the rows of a query. */
export function withHeadRow<Row>({
  columns,
  build,
}: Pick<Query<Row>, 'columns' | 'build'>): RawBuilder<HeadOrRow<Row>> {
  const nulls = columns.map((column) => sql`null as ${sql.ref(column)}`);
  return sql<HeadOrRow<Row>>`select head.catalog, head.scope, head.revision, ${sql.join(nulls)}
    from (${selectHead}) as head
    union all
    select null, null, null, found.* from (${build()}) as found`;
}

type HeadOrRow<Row> = Head | (Row & { readonly catalog: null });

/** A statement saw another catalog, or another scope of the partner, than the snapshot has. */
export class OtherSnapshotError extends Error {
  readonly head: Head;

  constructor(head: Head) {
    super('a statement saw another snapshot');
    this.head = head;
  }
}

interface SnapshotParts {
  readonly catalog: CatalogName;
  readonly partner: Partner;
  readonly source: ReadSource;
  /**
   * Whether one head named both the catalog and the partner's scope. Then later scopes do not matter: as long as the
   * catalog is the same, its records are what the partner saw as of that event.
   */
  readonly isNamed: boolean;
}

/** One millisecond after the last event of a snapshot; the epoch if it has none. */
export function watermarkOf({ catalog, partner }: Pick<SnapshotParts, 'catalog' | 'partner'>): string {
  const last = latestOf(timestampOf(catalog), timestampOf(partner.scopeEvent));
  return last === EPOCH ? EPOCH : addMilliseconds(last, 1);
}

/**
 * A catalog, and a partner as of an event: what a response shows. Every statement of a response is run here, which
 * compares its head with the snapshot. Only `Snapshots` in `paging/snapshots.ts` makes them, and reads again if a
 * statement throws OtherSnapshotError.
 */
export class Snapshot {
  readonly engine: Engine;
  readonly catalog: CatalogName;
  readonly partner: Partner;
  readonly #database: OpenDatabase;
  readonly #parts: SnapshotParts;
  readonly #held: ParameterValues;
  #head: Head | null = null;

  constructor(database: OpenDatabase, parts: SnapshotParts) {
    this.engine = database.engine;
    this.catalog = parts.catalog;
    this.partner = parts.partner;
    this.#database = database;
    this.#parts = parts;
    this.#held = { partner_id: parts.partner.id };
  }

  get scope(): Scope {
    return this.partner.scope;
  }

  get watermark(): string {
    return watermarkOf(this.#parts);
  }

  /** 96 bits, which differ between snapshots, also between those of histories that used the same timestamps. */
  get digest(): string {
    const { id, scopeEvent } = this.partner;
    return hash('sha256', `${id} ${this.catalog} ${scopeEvent}`, 'base64url').slice(0, 16);
  }

  /**
   * Runs a statement, which can use the parameter `partner_id`. Returns its rows in no particular order.
   *
   * @param source if a replica will not do.
   * @throws OtherSnapshotError if it saw another snapshot.
   */
  async run<Row extends object>(query: Query<Row>, source: ReadSource = this.#parts.source): Promise<Row[]> {
    const rows = await this.#database.run(
      query.statementKey,
      () => withHeadRow(query),
      { ...query.values, ...this.#held },
      this.#parts.source === 'primary' ? 'primary' : source,
    );
    const found: Row[] = [];
    let head: Head | undefined;
    for (const row of rows) {
      if (row.catalog === null) found.push(row);
      else head = row;
    }
    this.#check(head);
    return found;
  }

  /** The same for texts, in order. @throws OtherSnapshotError if it saw another snapshot. */
  async readTexts(statementKey: string, build: () => TextsToRead, values: ParameterValues): Promise<Texts> {
    const { head, ...texts } = await this.#database.readTexts(
      statementKey,
      () => ({ head: selectHead, ...build() }),
      { ...values, ...this.#held },
      this.#parts.source,
    );
    this.#check(head);
    return texts;
  }

  /** Compares the snapshot with the log, if no statement has done so: all may have been cached. */
  async verify(): Promise<Head> {
    if (this.#head !== null) return this.#head;
    const { source } = this.#parts;
    this.#check(firstRow(await this.#database.run('head', () => selectHead, this.#held, source)));
    return this.verify();
  }

  /** The head as the primary has it now, or a replica while the primary is down. */
  async readHead(): Promise<HeadWithScope> {
    const source = this.#parts.source === 'primary' ? 'primary' : 'known';
    return firstRow(await this.#database.run('head with scope', () => selectHeadWithScope, this.#held, source));
  }

  #check(head: Head | undefined): void {
    if (head === undefined) throw new Error('a statement that serves returned no head');
    // The row can also have texts, which must not be held as long as the snapshot.
    const { catalog, scope, revision } = head;
    const read = { catalog, scope, revision };
    const { scopeEvent } = this.partner;
    const isLater = this.#parts.isNamed && timestampOf(scope) > timestampOf(scopeEvent);
    if (catalog !== this.catalog || (scope !== scopeEvent && !isLater)) throw new OtherSnapshotError(read);
    this.#head = read;
  }
}
