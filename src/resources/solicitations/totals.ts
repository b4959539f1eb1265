import { sql, type RawBuilder, type SqlBool } from 'kysely';
import type { Engine } from '../../database/database.ts';
import { isInList, slot, type SlotValues } from '../../database/statement.ts';
import { allOf, type Condition } from '../conditions.ts';
import { endOfMonth, monthOf } from './months.ts';

/** What decides the text of a count that is made of totals. */
export interface TotalsShape {
  readonly everything: boolean;
  readonly filters: readonly string[];
}

/** The values of its slots, besides those of the filters and of the scope. */
export function totalsValues(closingAfter: string | undefined, closingBefore: string | undefined): SlotValues {
  const after_month = monthOf(closingAfter ?? null);
  return { after_month, after_month_end: endOfMonth(after_month), before_month: monthOf(closingBefore ?? null) };
}

/**
 * Adds up what is kept for each lead entity, status and month, some ten thousand numbers at a
 * million solicitations, and counts the records of the months in which a window of deadlines
 * begins and ends: those are found in the index on deadlines, which holds all that is asked.
 *
 * @param conditions what holds for every record that counts.
 */
export function addTotals(
  engine: Engine,
  { everything, filters }: TotalsShape,
  conditions: readonly (Condition | null)[],
): RawBuilder<{ total: number }> {
  const hasAfter = filters.includes('closing_after');
  const hasBefore = filters.includes('closing_before');
  const isKept = allOf([
    everything ? null : isInList(engine, sql.ref('kept.lead_entity_id'), 'lead_entities'),
    filters.includes('lead_entity') ? sql<SqlBool>`kept.lead_entity_id = ${slot('lead_entity')}` : null,
    filters.includes('status') ? sql<SqlBool>`kept.status = ${slot('status')}` : null,
    hasAfter ? sql<SqlBool>`kept.month > ${slot('after_month')}` : null,
    hasBefore ? sql<SqlBool>`kept.month < ${slot('before_month')} and kept.month <> ''` : null,
  ]);
  const recordsOf = (month: Condition): RawBuilder<number> => sql<number>`(select count(*)
    from catalog.solicitations as solicitation where ${allOf([...conditions, month])})`;
  // Plain comparisons, as the index on deadlines is looked up by them.
  const sinceAfter = sql<SqlBool>`solicitation.close_at >= ${slot('closing_after')}`;
  const untilBefore = sql<SqlBool>`solicitation.close_at <= ${slot('closing_before')}`;
  const parts = [
    sql<number>`(select coalesce(sum(kept.total), 0) from catalog.solicitation_totals as kept where ${isKept})`,
    ...(hasAfter
      ? [recordsOf(allOf([sinceAfter, sql<SqlBool>`solicitation.close_at <= ${slot('after_month_end')}`]))]
      : []),
    ...(hasBefore
      ? [
          recordsOf(
            allOf([
              untilBefore,
              sql<SqlBool>`solicitation.close_at >= ${slot('before_month')}`,
              // Where both ends are in one month, its records are counted already.
              hasAfter ? sql<SqlBool>`solicitation.close_at > ${slot('after_month_end')}` : null,
            ]),
          ),
        ]
      : []),
  ];
  return sql<{ total: number }>`select cast(${sql.join(parts, sql` + `)} as bigint) as total`;
}
