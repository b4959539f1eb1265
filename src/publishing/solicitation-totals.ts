import { sql } from 'kysely';
import type { Database } from '../database/database.ts';
import { isOneOf } from '../database/engine-sql.ts';
import type { SolicitationRow } from '../database/tables.ts';
import { ALL_LEAD_ENTITIES, monthOf } from '../resources/solicitations/totals.ts';
import { inBatches } from './rows.ts';

/** What decides in which total a solicitation is counted. */
type Counted = Pick<SolicitationRow, 'lead_entity_id' | 'status' | 'close_at'>;

const TOTALS_AT_ONCE = 5_000;

/**
 * Keeps `catalog.solicitation_totals` in step: gathers what an import changes in them, and writes
 * it at the end.
 */
export class SolicitationTotals {
  readonly #database: Database;
  readonly #changes = new Map<string, Counted & { change: number }>();

  constructor(database: Database) {
    this.#database = database;
  }

  /** Counts a solicitation that was written, and no more what was there before; null for nothing. */
  replace(before: Counted | null, after: Counted | null): void {
    if (before !== null) this.#change(before, -1);
    if (after !== null) this.#change(after, 1);
  }

  /** To be called before solicitations are removed. */
  async remove(ids: readonly string[]): Promise<void> {
    const { engine, kysely } = this.#database;
    const rows = await kysely
      .selectFrom('catalog.solicitations')
      .select(['lead_entity_id', 'status', 'close_at'])
      .where((eb) => isOneOf(engine, eb.ref('id'), ids))
      .execute();
    for (const row of rows) this.replace(row, null);
  }

  /** To be called once, when everything else is written. */
  async write(): Promise<void> {
    const { engine, kysely } = this.#database;
    const rows = [...this.#changes.values()]
      .filter(({ change }) => change !== 0)
      .map(({ lead_entity_id, status, close_at, change }) => [lead_entity_id, status, monthOf(close_at), change]);
    const column = (place: number) => sql`value ->> ${sql.lit(place)}`;
    const elements = (list: string) =>
      engine === 'sqlite' ? sql`json_each(${list})` : sql`json_array_elements(${list}::json) as rows (value)`;
    for (const chunk of inBatches(rows, TOTALS_AT_ONCE)) {
      // "where true" tells SQLite that "on conflict" does not belong to a join.
      await sql`insert into catalog.solicitation_totals as stored (lead_entity_id, status, month, total)
        select ${column(0)}, ${column(1)}, ${column(2)}, cast(${column(3)} as bigint) from ${elements(JSON.stringify(chunk))} where true
        on conflict (lead_entity_id, status, month) do update set total = stored.total + excluded.total`.execute(
        kysely,
      );
    }
    await sql`delete from catalog.solicitation_totals where total = 0`.execute(kysely);
  }

  #change(counted: Counted, by: number): void {
    if (counted.status === 'draft') return;
    this.#changeOne(counted, by);
    this.#changeOne({ ...counted, lead_entity_id: ALL_LEAD_ENTITIES }, by);
  }

  #changeOne({ lead_entity_id, status, close_at }: Counted, by: number): void {
    const key = `${lead_entity_id} ${status} ${monthOf(close_at)}`;
    const known = this.#changes.get(key);
    if (known === undefined) this.#changes.set(key, { lead_entity_id, status, close_at, change: by });
    else known.change += by;
  }
}
