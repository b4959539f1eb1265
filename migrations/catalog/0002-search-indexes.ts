import type { Migration } from '../../src/database/migrations/migration.ts';

const SEARCHED = ['certifications', 'suppliers', 'contracts', 'solicitations'];

/**
 * The service splits and stems words for both engines, so the indexes hold finished tokens and must not change them:
 * FTS5's `ascii` tokenizer preserves every letter beyond ASCII, and "=" marks stems. On PostgreSQL the vectors have
 * their own tables, so that rerendering a record does not write its index entries again.
 */
export const searchIndexes: Migration = {
  number: 2,
  name: 'search indexes',
  statements(engine) {
    return SEARCHED.flatMap((table) =>
      engine === 'sqlite'
        ? [
            `create virtual table catalog.${table}_search using fts5 (
              words, content = '', contentless_delete = 1, detail = none, prefix = '1 2 3',
              tokenize = "ascii tokenchars '='")`,
          ]
        : [
            `create table catalog.${table}_search (number bigint primary key, words tsvector not null)`,
            `create index ${table}_search_by_words on catalog.${table}_search using gin (words)`,
          ],
    );
  },
};
