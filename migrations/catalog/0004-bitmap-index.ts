import type { Engine } from '../../src/database/database.ts';
import { createIndex, orderedText, type Migration } from '../../src/database/migration.ts';

const RECORDS = ['suppliers', 'contracts', 'solicitations'] as const;

/**
 * The tables of the bitmap index (`src/index/`). `position` is a record's place in it: its block and its position
 * there. It is indexed, and not unique: records of a block that move would meet each other on their way.
 */
export const bitmapIndex: Migration = {
  number: 4,
  name: 'tables of the bitmap index',
  isAdditive: true,
  statements(engine) {
    const text = orderedText(engine);
    const bytes = engine === 'sqlite' ? 'blob' : 'bytea';
    return [
      ...addPublicationToken(engine),
      // Of suppliers the texts that are searched and not served.
      `alter table catalog.suppliers add column searched text not null default ''`,
      ...RECORDS.flatMap((kind) => [
        `alter table catalog.${kind} add column position bigint`,
        createIndex(engine, 'catalog', kind, ['position']),
        `create table catalog.${kind}_index (
          block integer not null, term ${text} not null, bits ${bytes} not null, primary key (block, term))`,
        // Trying to compress bitmaps takes longer than writing them, and saves a fiftieth.
        ...(engine === 'postgres' ? [`alter table catalog.${kind}_index alter bits set storage external`] : []),
      ]),
      // The blocks of each kind. Their order is that of their first ids.
      `create table catalog.index_blocks (
        kind ${text} not null, block integer not null, first_id ${text} not null, token text not null,
        primary key (kind, block))`,
      createIndex(engine, 'catalog', 'contracts', ['lead_entity_id', 'coop_id']),
      createIndex(engine, 'catalog', 'contracts', ['coop_id', 'lead_entity_id']),
      createIndex(engine, 'catalog', 'solicitations', ['lead_entity_id']),
    ];
  },
};

/**
 * A random token of each publication. It tells a publication from another of the same number and timestamp, after a
 * restore or a promotion. The column has no default: an import of the version before that began before the migration,
 * and that waited for it, fails at its end. It would have left the index as it was.
 */
function addPublicationToken(engine: Engine): string[] {
  const text = orderedText(engine);
  // SQLite cannot drop a default, nor add a column that has to have one.
  return engine === 'postgres'
    ? [
        `alter table catalog.publications add column token ${text} not null default ''`,
        'alter table catalog.publications alter column token drop default',
      ]
    : [
        `create table catalog.publications_with_token (
          number bigint primary key, instant ${text} not null unique, token ${text} not null)`,
        `insert into catalog.publications_with_token select number, instant, '' from catalog.publications`,
        'drop table catalog.publications',
        'alter table catalog.publications_with_token rename to publications',
      ];
}
