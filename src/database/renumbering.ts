import type { Engine } from './database.ts';

/** What lies between the numbers of two neighbours: room for 26 records in the worst order, for millions in a good one. */
export const STRIDE = 2 ** 26;

/** Beyond every number that is in use, so that a row on its way to its new number meets no other. */
const ASIDE = String(2n ** 60n);

/** The words of a search index are moved in so many parts, since each part is sorted in memory. */
const PARTS = 8;

type NumberedTable = 'suppliers' | 'contracts' | 'solicitations';

/** What happens to search entries on their way, in SQL over `record`. */
interface EntryChange {
  /** A token that is added; empty for none. */
  readonly mark: string;
  readonly isKept: string;
}

const UNCHANGED: EntryChange = { mark: "''", isKept: '1 = 1' };

/**
 * The statements that give the rows of a table, and their search entries, new numbers in the
 * order of their ids, `stride` apart. To be run in one transaction.
 *
 * Numbers follow ids, so that a search that walks its index by number meets the records in the
 * order of the answer. They leave gaps for records that come later.
 */
export function renumberStatements(
  engine: Engine,
  table: NumberedTable,
  stride: number,
  change: EntryChange = UNCHANGED,
): string[] {
  const move =
    engine === 'sqlite'
      ? [
          `update catalog.${table} set number =
            (select new from temp.renumbered where old = number) - ${ASIDE}`,
        ]
      : [
          `update catalog.${table} as record set number = renumbered.new - ${ASIDE}
            from renumbered where renumbered.old = record.number`,
        ];
  return [
    `create temporary table renumbered (old bigint primary key, new bigint not null)`,
    `insert into renumbered select number, row_number() over (order by id) * ${stride} from catalog.${table}`,
    ...(engine === 'sqlite' ? moveFts5Entries(table, change) : movePostgresEntries(table, change)),
    ...move,
    `update catalog.${table} set number = number + ${ASIDE}`,
    'drop table renumbered',
  ];
}

function movePostgresEntries(table: NumberedTable, { mark, isKept }: EntryChange): string[] {
  return [
    `create temporary table moved_entries as
      select renumbered.new as number, entry.words || array_to_tsvector(array_remove(array[${mark}], '')) as words
      from catalog.${table}_search as entry join renumbered on renumbered.old = entry.number
        join catalog.${table} as record on record.number = renumbered.old
      where ${isKept}`,
    `delete from catalog.${table}_search`,
    `insert into catalog.${table}_search (number, words) select number, words from moved_entries order by number`,
    'drop table moved_entries',
  ];
}

/**
 * FTS5 keeps no texts here, but its vocabulary tells which terms each entry holds; their order
 * in a text does not matter to an index that keeps no positions.
 */
function moveFts5Entries(table: NumberedTable, { mark, isKept }: EntryChange): string[] {
  const parts = Array.from({ length: PARTS }, (_, part) => part);
  return [
    `create virtual table temp.${table}_terms using fts5vocab(catalog, ${table}_search, instance)`,
    `create virtual table catalog.${table}_search_moved using fts5 (
      words, content = '', contentless_delete = 1, detail = none, prefix = '1 2 3',
      tokenize = "ascii tokenchars '='")`,
    ...parts.map(
      (part) => `insert into catalog.${table}_search_moved (rowid, words)
        select renumbered.new, group_concat(terms.term, ' ') || ' ' || ${mark}
        from temp.${table}_terms as terms cross join temp.renumbered as renumbered on renumbered.old = terms.doc
          cross join catalog.${table} as record on record.number = renumbered.old
        where ${isKept} and (terms.doc + (terms.doc >> 26)) & ${PARTS - 1} = ${part}
        group by renumbered.new`,
    ),
    `drop table temp.${table}_terms`,
    `drop table catalog.${table}_search`,
    `alter table catalog.${table}_search_moved rename to ${table}_search`,
  ];
}
