import { createIndex, orderedText, type Migration } from '../../src/database/migrations/migration.ts';
import type { Engine } from '../../src/database/database.ts';
import { renumberStatements, STRIDE } from './renumbering.ts';

const RECORDS = ['suppliers', 'contracts', 'solicitations'] as const;
const SERVED = "status <> 'draft'";

/**
 * From here on, numbers follow the order of ids, so that every list and search is ordered by number alone; indexes that
 * ended with the id now end with the number. `line_hash` identifies an already imported line without parsing it. Search
 * entries get filter terms of their records, and drafts have no entries. Totals are stored for counts. The planner gets
 * more statistics about words, since the best plan depends on a word's frequency.
 */
export const numbersInOrder: Migration = {
  number: 3,
  name: 'numbers in the order of ids',
  statements(engine) {
    const text = orderedText(engine);
    const index = (table: string, columns: string[], where?: string): string =>
      createIndex(engine, 'catalog', table, columns, where);
    const dropped = [
      'suppliers_by_changed_publication_id',
      'contracts_by_lead_entity_id_id',
      'contracts_by_coop_id_id',
      'contracts_by_changed_publication_id',
      'solicitations_by_lead_entity_id_id',
      'solicitations_by_changed_publication_id',
    ];
    return [
      ...dropped.map((name) => `drop index catalog.${name}`),
      ...RECORDS.map((table) => `alter table catalog.${table} add column line_hash text not null default ''`),
      ...(['certifications', ...RECORDS] as const).flatMap((table) =>
        renumberStatements(engine, table, STRIDE, {
          marks: marksOf(engine, table),
          isKept: table === 'solicitations' ? `record.${SERVED}` : '1 = 1',
          addsPrefixes: true,
        }),
      ),
      index('suppliers', ['changed_publication', 'number']),
      index('contracts', ['lead_entity_id', 'number']),
      index('contracts', ['coop_id', 'number']),
      index('contracts', ['changed_publication', 'number']),
      index('solicitations', ['lead_entity_id', 'number'], SERVED),
      index('solicitations', ['lead_entity_id', 'status', 'number', 'close_at']),
      index('solicitations', ['status', 'number', 'close_at']),
      index('solicitations', ['changed_publication', 'number', 'lead_entity_id']),
      index('solicitations', ['close_at', 'status', 'lead_entity_id'], SERVED),
      `create table catalog.solicitation_totals (
        lead_entity_id ${text} not null, status ${text} not null, month ${text} not null, total bigint not null,
        primary key (lead_entity_id, status, month))`,
      ...['lead_entity_id', "''"].map(
        (leadEntity) => `insert into catalog.solicitation_totals (lead_entity_id, status, month, total)
          select ${leadEntity}, status, coalesce(substr(close_at, 1, 7), ''), count(*)
          from catalog.solicitations where ${SERVED} group by 1, 2, 3`,
      ),
      ...(engine === 'postgres'
        ? [...RECORDS, 'certifications'].map(
            (table) => `alter table catalog.${table}_search alter column words set statistics 1000`,
          )
        : []),
    ];
  },
};

/** The filter terms of a record's search entry as a SQL expression, separated by spaces. */
function marksOf(engine: Engine, table: string): string {
  const hexOf = (column: string): string =>
    engine === 'sqlite' ? `lower(hex(record.${column}))` : `encode(convert_to(record.${column}, 'UTF8'), 'hex')`;
  const leadEntity = `'=l=' || ${hexOf('lead_entity_id')}`;
  if (table === 'contracts')
    return `${leadEntity} || case when record.coop_id is null then '' else ' =c=' || ${hexOf('coop_id')} end`;
  if (table !== 'solicitations') return "''";
  const periods = [1, 2, 3, 4, 6, 8].map(
    (length) => `' =d=' || substr(replace(substr(record.close_at, 1, 10), '-', ''), 1, ${length})`,
  );
  return `'=s=' || record.status || ' ' || ${leadEntity} || coalesce(${periods.join(' || ')}, '')`;
}
