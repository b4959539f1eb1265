import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

export const LISTS = [
  'lead-entities',
  'coops',
  'city-services',
  'certifications',
  'suppliers',
  'contracts',
  'solicitations',
] as const;

export type List = (typeof LISTS)[number];
export type Json = Readonly<Record<string, unknown>>;

/** Records by id, for each list and for the details of solicitations. */
export type Records = Readonly<Record<List | 'details', ReadonlyMap<string, Json>>>;

export const STORES = ['sqlite', 'ndjson'] as const;
export type StoreType = (typeof STORES)[number];

export function idIn(list: List | 'details', record: Json): string {
  return String(record[list === 'certifications' ? 'abbreviation' : 'id']);
}

/** The command-line arguments for a copy of this type in a folder. */
export function storeOptions(type: StoreType, folder: string): string[] {
  return type === 'sqlite' ? ['--sqlite', join(folder, 'copy.sqlite')] : ['--ndjson', join(folder, 'copy')];
}

/** Reads a copy as a partner's program would, through the documented tables, views and files. */
export function readCopy(type: StoreType, folder: string): Records {
  const read = type === 'sqlite' ? readSqlite : readNdjson;
  const lists = [...LISTS, 'details'] as const;
  const entries = read(folder, lists).map((records, index) => {
    const list = lists[index] ?? 'details';
    return [list, new Map(records.map((record) => [idIn(list, record), record]))] as const;
  });
  return Object.fromEntries(entries) as unknown as Records;
}

function readSqlite(folder: string, lists: readonly (List | 'details')[]): Json[][] {
  const path = join(folder, 'copy.sqlite');
  if (!existsSync(path)) return lists.map(() => []);
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    return lists.map((list) => {
      const [table, column] =
        list === 'details' ? ['solicitation_details', 'detail'] : [list.replace('-', '_'), 'record'];
      const rows = database.prepare(`select ${column} as record from ${table}`).all();
      return rows.map((row) => JSON.parse(String(row['record'])) as Json);
    });
  } finally {
    database.close();
  }
}

function readNdjson(folder: string, lists: readonly (List | 'details')[]): Json[][] {
  return lists.map((list) => {
    const path = join(folder, 'copy', `${list === 'details' ? 'solicitation-details' : list}.ndjson`);
    if (!existsSync(path)) return [];
    const lines = readFileSync(path, 'utf8').split('\n');
    // Every line, including the last, ends with a line feed.
    if (lines.pop() !== '') throw new Error(`${path} is cut off`);
    return lines.map((line) => JSON.parse(line) as Json);
  });
}
