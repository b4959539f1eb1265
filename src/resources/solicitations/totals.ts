import { sql, type RawBuilder, type SqlBool } from 'kysely';
import type { Engine } from '../../database/database.ts';
import { isInList, slot, type SlotValues } from '../../database/statement.ts';
import { allOf, type Condition } from '../conditions.ts';

/** Stands in the totals in the place of a lead entity, for all of them together: no id is empty. */
export const ALL_LEAD_ENTITIES = '';

/** The month of a deadline, `2026-11`; empty for no deadline. Text order is time order. */
export function monthOf(closeAt: string | null): string {
  return closeAt?.slice(0, 7) ?? '';
}

/** What decides the text of a count that is made of totals. */
export interface TotalsShape {
  readonly everything: boolean;
  readonly filters: readonly string[];
}

/** The values of its slots, besides those of the filters and of the scope. No instant of a month comes after its end. */
export function totalsValues(closingAfter: string | undefined, closingBefore: string | undefined): SlotValues {
  const after_month = monthOf(closingAfter ?? null);
  return { after_month, after_month_end: `${after_month}~`, before_month: monthOf(closingBefore ?? null) };
}

/**
 * Adds up what is kept for each lead entity, and for all together, by status and month: some
 * hundred numbers for each. Counts the records of the months in which a window of deadlines begins and
 * ends: those are found in the index on deadlines, which holds all that is asked.
 *
 * @param served what holds for every record that is served, and for all of that index.
 * @param asked what is asked for besides.
 */
export function addTotals(
  engine: Engine,
  { everything, filters }: TotalsShape,
  served: Condition,
  asked: readonly (Condition | null)[],
): RawBuilder<{ total: number }> {
  const hasAfter = filters.includes('closing_after');
  const hasBefore = filters.includes('closing_before');
  const isKept = allOf([
    everything ? null : isInList(engine, sql.ref('kept.lead_entity_id'), 'lead_entities'),
    filters.includes('lead_entity') ? sql<SqlBool>`kept.lead_entity_id = ${slot('lead_entity')}` : null,
    everything && !filters.includes('lead_entity')
      ? sql<SqlBool>`kept.lead_entity_id = ${sql.lit(ALL_LEAD_ENTITIES)}`
      : null,
    filters.includes('status') ? sql<SqlBool>`kept.status = ${slot('status')}` : null,
    hasAfter ? sql<SqlBool>`kept.month > ${slot('after_month')}` : null,
    hasBefore ? sql<SqlBool>`kept.month < ${slot('before_month')} and kept.month <> ''` : null,
  ]);
  // "is true" keeps the planners from an index on what else is asked, which may be half of all records.
  const isAsked = sql<SqlBool>`${allOf(asked)} is true`;
  const countClosing = (window: readonly (Condition | null)[]): RawBuilder<number> => sql<number>`(select count(*)
    from catalog.solicitations as solicitation where ${allOf([served, isAsked, ...window])})`;
  const closes = (comparison: string, name: string): Condition =>
    sql<SqlBool>`solicitation.close_at ${sql.raw(comparison)} ${slot(name)}`;
  const parts = [
    sql<number>`(select coalesce(sum(kept.total), 0) from catalog.solicitation_totals as kept where ${isKept})`,
    ...(hasAfter ? [countClosing([closes('>=', 'closing_after'), closes('<=', 'after_month_end')])] : []),
    // Where both ends are in one month, its records are counted already.
    ...(hasBefore
      ? [
          countClosing([
            closes('<=', 'closing_before'),
            closes('>=', 'before_month'),
            hasAfter ? closes('>', 'after_month_end') : null,
          ]),
        ]
      : []),
  ];
  return sql<{ total: number }>`select cast(${sql.join(parts, sql` + `)} as bigint) as total`;
}
