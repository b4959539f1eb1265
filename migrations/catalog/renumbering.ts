import type { Engine } from '../../src/database/database.ts';

/**
 * The distance between neighboring numbers: room for 16 records in the worst order, for thousands in a good one. FTS5
 * stores differences of numbers, so a larger stride makes its index larger: at 2^26 it is twice as large as at 2^12.
 */
export const STRIDE = 2 ** 16;

/** Beyond every number in use, so that rows do not collide while they are renumbered. */
const ASIDE = String(2n ** 60n);

/** A search index is moved in this many parts, since each part is sorted in memory. */
const PARTS = 8;

type NumberedTable = 'certifications' | 'suppliers' | 'contracts' | 'solicitations';

/** How search entries change when they are moved, in SQL over `record`. */
interface EntryChange {
  /** Tokens to add, separated by spaces; empty for none. */
  readonly marks: string;
  readonly isKept: string;
  /** Whether to add prefix tokens, which SQLite's index found in other ways before. */
  readonly addsPrefixes: boolean;
}

const UNCHANGED: EntryChange = { marks: "''", isKept: '1 = 1', addsPrefixes: false };

/**
 * The statements that renumber a table's rows and their search entries in id order, `stride` apart. Run them in one
 * transaction.
 *
 * Numbers follow ids, so that a search that scans its index by number finds records in list order. The gaps leave room
 * for later records.
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

/** A word with its prefix tokens; stems stay as they are. Duplicate tokens in an entry count once. */
const WITH_PREFIXES = `case when terms.term like '=%' then terms.term else concat_ws(' ', terms.term,
  '+' || substr(terms.term, 1, 1),
  iif(length(terms.term) > 2, '+' || substr(terms.term, 1, 3), null)) end`;

/**
 * FTS5 stores no texts here, but its vocabulary lists the terms of each entry. Their order does not matter to an index
 * without positions.
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
