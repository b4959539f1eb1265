import type { Engine } from '../../src/database/database.ts';

/**
 * What lies between the numbers of two neighbours: room for 16 records in the worst order, for
 * thousands in a good one. FTS5 stores differences of numbers, so that a larger one makes its
 * index larger: at 2^26 it is twice that of 2^12.
 */
export const STRIDE = 2 ** 16;

/** Beyond every number that is in use, so that a row on its way to its new number meets no other. */
const ASIDE = String(2n ** 60n);

/** The words of a search index are moved in so many parts, since each part is sorted in memory. */
const PARTS = 8;

type NumberedTable = 'certifications' | 'suppliers' | 'contracts' | 'solicitations';

/** What happens to search entries on their way, in SQL over `record`. */
interface EntryChange {
  /** Tokens that are added, with spaces between; empty for none. */
  readonly marks: string;
  readonly isKept: string;
  /** SQLite's index gets tokens for the first letters of words, which it found in other ways before. */
  readonly addsPrefixes: boolean;
}

const UNCHANGED: EntryChange = { marks: "''", isKept: '1 = 1', addsPrefixes: false };

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
  const key = table === 'certifications' ? 'abbreviation' : 'id';
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
    `insert into renumbered select number, row_number() over (order by ${key}) * ${stride} from catalog.${table}`,
    ...(engine === 'sqlite' ? moveFts5Entries(table, change) : movePostgresEntries(table, change)),
    ...move,
    `update catalog.${table} set number = number + ${ASIDE}`,
    'drop table renumbered',
  ];
}

function movePostgresEntries(table: NumberedTable, { marks, isKept }: EntryChange): string[] {
  return [
    `create temporary table moved_entries as
      select renumbered.new as number, entry.words || array_to_tsvector(array_remove(string_to_array(${marks}, ' '), '')) as words
      from catalog.${table}_search as entry join renumbered on renumbered.old = entry.number
        join catalog.${table} as record on record.number = renumbered.old
      where ${isKept}`,
    `delete from catalog.${table}_search`,
    `insert into catalog.${table}_search (number, words) select number, words from moved_entries order by number`,
    'drop table moved_entries',
  ];
}

/** A word with the tokens of its first letters; a stem as it is. An entry that names a token twice holds it once. */
const WITH_PREFIXES = `case when terms.term like '=%' then terms.term else concat_ws(' ', terms.term,
  '+' || substr(terms.term, 1, 1),
  iif(length(terms.term) > 2, '+' || substr(terms.term, 1, 3), null)) end`;

/**
 * FTS5 keeps no texts here, but its vocabulary tells which terms each entry holds; their order
 * in a text does not matter to an index that keeps no positions.
 */
function moveFts5Entries(table: NumberedTable, { marks, isKept, addsPrefixes }: EntryChange): string[] {
  const parts = Array.from({ length: PARTS }, (_, part) => part);
  return [
    `create virtual table temp.${table}_terms using fts5vocab(catalog, ${table}_search, instance)`,
    `create virtual table catalog.${table}_search_moved using fts5 (
      words, content = '', contentless_delete = 1, detail = none, tokenize = "ascii tokenchars '=+'")`,
    ...parts.map(
      (part) => `insert into catalog.${table}_search_moved (rowid, words)
        select renumbered.new, group_concat(${addsPrefixes ? WITH_PREFIXES : 'terms.term'}, ' ') || ' ' || ${marks}
        from temp.${table}_terms as terms cross join temp.renumbered as renumbered on renumbered.old = terms.doc
          cross join catalog.${table} as record on record.number = renumbered.old
        where ${isKept} and (terms.doc + (terms.doc >> 16)) & ${PARTS - 1} = ${part}
        group by renumbered.new`,
    ),
    `drop table temp.${table}_terms`,
    `drop table catalog.${table}_search`,
    `alter table catalog.${table}_search_moved rename to ${table}_search`,
  ];
}
