import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Database } from '../../src/database/database.ts';
import type { Migration } from '../../src/database/migrations/migration.ts';
import { rebuildIndex } from '../../src/index/write/rebuild-index.ts';
import { INDEXED_KINDS } from '../../src/kinds.ts';

/**
 * Fills the bitmap index from the stored records. Servers of the previous version continue to use the former search.
 */
export const indexFilled: Migration = {
  number: 5,
  name: 'the index filled',
  isAdditive: true,
  async run(transaction, onProgress) {
    const { kysely } = transaction;
    const { last } = await kysely
      .selectFrom('catalog.publications')
      .select((eb) => eb.fn.max('number').as('last'))
      .executeTakeFirstOrThrow();
    // Nothing was ever imported.
    if ((last as number | null) === null) return;
    await kysely.updateTable('catalog.publications').set({ token: randomUUID() }).where('number', '=', last).execute();
    const onRead = (done: number, total: number): void =>
      onProgress({ done, total, what: 'Reading the words of suppliers' });
    await (transaction.engine === 'sqlite'
      ? readFts5Words(transaction, onRead)
      : readTsvectorWords(transaction, onRead));
    await rebuildIndex(transaction, INDEXED_KINDS, randomUUID(), ({ what, ...progress }) =>
      onProgress({ ...progress, what: `Indexing ${what}` }),
    );
  },
};

/*
 * A supplier's introduction and description are searched but were never stored. Their words are in the former search
 * index, along with stems, which begin with "=", and short prefixes, which begin with "+".
 */

/**
 * Ranges of words in which the former index's vocabulary is read, since each range is sorted in memory. "{" sorts after
 * all ASCII letters. No range includes tokens that begin with "=" or "+".
 */
const FIRST_CHARACTERS = ['0', 'a', 'b', 'c', 'd', 'f', 'i', 'm', 'p', 'r', 's', 't', '{'];
const LAST_CHARACTER = '\u{10ffff}';

type OnRead = (done: number, total: number) => void;

async function readFts5Words({ kysely }: Database, onRead: OnRead): Promise<void> {
  const run = (text: string): Promise<unknown> => sql.raw(text).execute(kysely);
  await run('create virtual table temp.former_terms using fts5vocab(catalog, suppliers_search, instance)');
  await run('create temporary table former_words (number integer not null, words text not null)');
  for (const [index, first] of FIRST_CHARACTERS.entries()) {
    onRead(index, FIRST_CHARACTERS.length);
    // Lets signals be handled between two statements.
    await setImmediate();
    const end = first === '0' ? ':' : (FIRST_CHARACTERS[index + 1] ?? LAST_CHARACTER);
    await run(`insert into temp.former_words select doc, group_concat(term, ' ') from temp.former_terms
      where term >= '${first}' and term < '${end}' group by doc`);
  }
  await run(`update catalog.suppliers as supplier set searched = found.words
    from (select number, group_concat(words, ' ') as words from temp.former_words group by number) as found
    where found.number = supplier.number`);
  await run('drop table temp.former_words');
  await run('drop table temp.former_terms');
}

async function readTsvectorWords({ kysely }: Database, onRead: OnRead): Promise<void> {
  onRead(0, 1);
  await sql`update catalog.suppliers as supplier set searched = (
      select coalesce(string_agg(word, ' '), '') from unnest(tsvector_to_array(entry.words)) as word
      where left(word, 1) not in ('=', '+'))
    from catalog.suppliers_search as entry where entry.number = supplier.number`.execute(kysely);
}
