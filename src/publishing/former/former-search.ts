import { setImmediate } from 'node:timers/promises';
import { sql, type RawBuilder } from 'kysely';
import type { Database } from '../../database/database.ts';
import { isOneOf } from '../../database/engine-sql.ts';
import { parseRenderedContract } from '../../resources/contracts/render.ts';
import { stateOfLocation } from '../../us-states.ts';
import { contractMarks, solicitationMarks, tokensOf } from './tokens.ts';
import { deleteRows, inBatches, insertRows } from '../../database/rows.ts';
import { keyField } from '../records.ts';
import { TABLE_OF, type IndexedKind, type Kind } from '../../kinds.ts';

/*
 * During an upgrade from version 1.1, its servers search the former tables until they are replaced. Imports keep these
 * tables in sync with the records. The migration that drops the tables makes all of this obsolete.
 */

/** The migration that drops the tables of the former search. */
const REMOVED_BY = 6;

/** Records whose entries are rewritten together. A contract can take megabytes. */
const BATCH_RECORDS = 200;

const KINDS = ['certifications', 'suppliers', 'contracts', 'solicitations'] as const;

export type FormerlySearchedKind = (typeof KINDS)[number];

/** The search entry of one record. */
interface Entry {
  readonly number: number;
  readonly tokens: readonly string[];
}

/** Keeps the former search tables in sync within an import's transaction. */
export class FormerSearch {
  readonly #database: Database;
  readonly #written = new Map<Kind, Set<number>>();
  #hasSolicitationChanges = false;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Notes added or changed records. `finish` rewrites their entries. */
  noteWritten(kind: Kind, numbers: Iterable<number>): void {
    const written = this.#written.get(kind) ?? new Set();
    for (const number of numbers) written.add(number);
    this.#written.set(kind, written);
  }

  /** Removes the entries of records. Call it before deleting their rows. */
  async remove(kind: Kind, keys: readonly string[]): Promise<void> {
    const { engine, kysely } = this.#database;
    if (!(KINDS as readonly Kind[]).includes(kind)) return;
    if (kind === 'solicitations') this.#hasSolicitationChanges = true;
    if (kind === 'suppliers') await deleteRows(this.#database, 'catalog.supplier_states', 'supplier_id', keys);
    const { rows } = await sql<{ number: number }>`select number from ${sql.table(`catalog.${TABLE_OF[kind]}`)}
      where ${isOneOf(engine, sql.ref(keyField(kind)), keys)}`.execute(kysely);
    const numbers = rows.map(({ number }) => number);
    for (const number of numbers) this.#written.get(kind)?.delete(number);
    const key = sql.ref(engine === 'sqlite' ? 'rowid' : 'number');
    await sql`delete from ${searchTable(kind)} where ${isOneOf(engine, key, numbers)}`.execute(kysely);
  }

  /**
   * Row numbers for new records: servers of version 1.1 list records by number, so these are in the order of the ids.
   *
   * @param records of a block in id order: a stored record, or the id of a new one.
   * @throws NoNumberLeftError if too few numbers are left between two stored records.
   */
  async numbersFor(kind: IndexedKind, records: readonly (string | { readonly number: number })[]): Promise<number[]> {
    const numbers: number[] = [];
    const numberAt = (place: number): number | undefined => {
      const record = records[place];
      return typeof record === 'string' ? undefined : record?.number;
    };
    let start = 0;
    for (const [end, record] of [...records, null].entries()) {
      const id = records[start];
      if (typeof record === 'string') continue;
      if (typeof id === 'string') {
        const left = numberAt(start - 1) ?? (await this.#neighborOf(kind, id, 'before'));
        const right = record?.number ?? (await this.#neighborOf(kind, id, 'after'));
        numbers.push(...numbersInGap(end - start, left, right));
      }
      start = end + 1;
    }
    return numbers;
  }

  async #neighborOf(kind: IndexedKind, id: string, side: 'before' | 'after'): Promise<number | null> {
    const row = await this.#database.kysely
      .selectFrom(`catalog.${kind}`)
      .select('number')
      .where('id', side === 'before' ? '<' : '>', id)
      .orderBy('id', side === 'before' ? 'desc' : 'asc')
      .limit(1)
      .executeTakeFirst();
    return row?.number ?? null;
  }

  /**
   * Rewrites the entries of all noted records from their stored rows. Call it once, after everything else is written.
   */
  async finish(): Promise<void> {
    for (const kind of KINDS) {
      const numbers = [...(this.#written.get(kind) ?? [])].sort((a, b) => a - b);
      if (kind === 'solicitations' && numbers.length > 0) this.#hasSolicitationChanges = true;
      for (const batch of inBatches(numbers, BATCH_RECORDS)) {
        await this.#writeEntries(kind, await this.#readEntries(kind, batch));
        // Lets signals be handled: SQLite statements resolve without yielding to the event loop.
        await setImmediate();
      }
    }
    if (this.#hasSolicitationChanges) await this.#countSolicitations();
  }

  async #readEntries(kind: FormerlySearchedKind, numbers: readonly number[]): Promise<Entry[]> {
    const { engine, kysely } = this.#database;
    const isNoted = isOneOf(engine, sql.ref('number'), numbers);
    const entryOf = (number: number, texts: readonly (string | null)[], marks: readonly string[] = []): Entry => ({
      number,
      tokens: [...tokensOf(engine, texts), ...marks],
    });
    switch (kind) {
      case 'certifications': {
        const rows = await kysely.selectFrom('catalog.certifications').selectAll().where(isNoted).execute();
        return rows.map(({ number, name, abbreviation }) => entryOf(number, [name, abbreviation]));
      }
      case 'suppliers': {
        const columns = ['number', 'id', 'document', 'searched'] as const;
        const rows = await kysely.selectFrom('catalog.suppliers').select(columns).where(isNoted).execute();
        const suppliers = rows.map((row) => ({ ...row, ...(JSON.parse(`${row.document}}`) as SupplierDocument) }));
        await this.#writeStates(suppliers);
        return suppliers.map(({ number, name, searched }) => entryOf(number, [name, searched]));
      }
      case 'contracts': {
        const columns = ['number', 'lead_entity_id', 'coop_id', 'document'] as const;
        const rows = await kysely.selectFrom('catalog.contracts').select(columns).where(isNoted).execute();
        return rows.map((row) => {
          const { name, summary, description } = parseRenderedContract(row.document);
          return entryOf(row.number, [name, summary, description], contractMarks(row));
        });
      }
      case 'solicitations': {
        const columns = ['number', 'status', 'lead_entity_id', 'close_at', 'document', 'detail'] as const;
        const rows = await kysely.selectFrom('catalog.solicitations').select(columns).where(isNoted).execute();
        return rows.map((row) => {
          // Drafts are not served.
          if (row.status === 'draft') return { number: row.number, tokens: [] };
          const record = JSON.parse(`${row.document}${row.detail}}`) as SolicitationTexts;
          const texts = [record.title, record.reference_number, record.description];
          return entryOf(row.number, texts, solicitationMarks(row));
        });
      }
    }
  }

  async #writeEntries(kind: FormerlySearchedKind, entries: readonly Entry[]): Promise<void> {
    const { engine, kysely } = this.#database;
    const rows = JSON.stringify(entries.map(({ number, tokens }) => [number, tokens.join(' ')]));
    await (
      engine === 'sqlite'
        ? sql`insert or replace into ${searchTable(kind)} (rowid, words)
          select value ->> 0, value ->> 1 from json_each(${rows})`
        : sql`insert into ${searchTable(kind)} (number, words)
          select (value ->> 0)::bigint, array_to_tsvector(string_to_array(value ->> 1, ' '))
          from json_array_elements(${rows}::json)
          on conflict (number) do update set words = excluded.words`
    ).execute(kysely);
  }

  async #writeStates(suppliers: readonly (SupplierDocument & { readonly id: string })[]): Promise<void> {
    const rows = suppliers.flatMap(({ id: supplier_id, states_served, location }) =>
      [...new Set([...states_served, stateOfLocation(location) ?? []].flat())].map((state) => ({ supplier_id, state })),
    );
    const ids = suppliers.map(({ id }) => id);
    await deleteRows(this.#database, 'catalog.supplier_states', 'supplier_id', ids);
    await insertRows(this.#database, 'catalog.supplier_states', rows);
  }

  /** Counts by lead entity, status and month of the deadline. The empty lead entity holds the total. */
  async #countSolicitations(): Promise<void> {
    const { kysely } = this.#database;
    await sql`delete from catalog.solicitation_totals`.execute(kysely);
    for (const leadEntity of ['lead_entity_id', "''"]) {
      await sql`insert into catalog.solicitation_totals (lead_entity_id, status, month, total)
        select ${sql.raw(leadEntity)}, status, coalesce(substr(close_at, 1, 7), ''), count(*)
        from catalog.solicitations where status <> 'draft' group by 1, 2, 3`.execute(kysely);
    }
  }
}

interface SolicitationTexts {
  readonly title: string;
  readonly reference_number: string;
  readonly description: string | null;
}

interface SupplierDocument {
  readonly name: string;
  readonly states_served: readonly string[];
  readonly location: string | null;
}

function searchTable(kind: Kind): RawBuilder<unknown> {
  return sql.raw(`catalog.${kind}_search`);
}

/** The former search; null once `pds migrate --finish` has removed it. */
export async function openFormerSearch(database: Database): Promise<FormerSearch | null> {
  const removed = await database.kysely
    .selectFrom('catalog.migrations')
    .select('number')
    .where('number', '>=', REMOVED_BY)
    .executeTakeFirst();
  return removed === undefined ? new FormerSearch(database) : null;
}

/** Too few row numbers are left between two records for the new ones between them. */
class NoNumberLeftError extends Error {
  override name = 'NoNumberLeftError';
}

/** The distance between the numbers of new records that come after the last stored record or before the first. */
const STEP = 2 ** 16;

/**
 * Row numbers for `count` new records between two neighbors. Servers of version 1.1 list records by number.
 *
 * @param left the previous record's number; null if there is none.
 * @param right the next record's number; null if there is none.
 * @throws NoNumberLeftError if there are fewer than `count` numbers between them.
 */
export function numbersInGap(count: number, left: number | null, right: number | null): number[] {
  const inSteps = (start: number): number[] => Array.from({ length: count }, (_, index) => start + (index + 1) * STEP);
  if (right === null) return inSteps(left ?? 0);
  if (left === null) return inSteps(right - (count + 1) * STEP);
  const room = right - left - 1;
  if (room < count) {
    throw new NoNumberLeftError(
      `there are ${room} numbers for ${count} new records between two that servers of version 1.1 list in their order: ` +
        'replace these servers, run "pds migrate --finish", then run this import again. Nothing was published',
    );
  }
  return Array.from({ length: count }, (_, index) => left + Math.floor(((index + 1) * (room + 1)) / (count + 1)));
}
