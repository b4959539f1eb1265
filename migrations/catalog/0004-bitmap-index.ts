import type { Engine } from '../../src/database/database.ts';
import { createIndex, orderedText, type Migration } from '../../src/database/migrations/migration.ts';

const RECORDS = ['suppliers', 'contracts', 'solicitations'] as const;

/**
 * The tables of the bitmap index (`src/index/`). `position` is a record's block and its position there. It is indexed
 * but not unique: records that move within a block could collide on the way.
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
      // The texts of suppliers that are searched but not served.
      `alter table catalog.suppliers add column searched text not null default ''`,
      ...RECORDS.flatMap((kind) => [
        `alter table catalog.${kind} add column position bigint`,
        createIndex(engine, 'catalog', kind, ['position']),
        `create table catalog.${kind}_index (
          block integer not null, term ${text} not null, bits ${bytes} not null, primary key (block, term))`,
        // Compressing bitmaps takes longer than writing them, and saves two percent.
        ...(engine === 'postgres' ? [`alter table catalog.${kind}_index alter bits set storage external`] : []),
      ]),
      // The blocks of each kind, ordered by their first ids.
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
 * Adds a random token to each publication. After a restore or promotion it distinguishes publications with the same
 * number and timestamp. The column has no default: an import of the previous version that began before the migration
 * fails at its end, since it would not have updated the index.
 */
function addPublicationToken(engine: Engine): string[] {
  const text = orderedText(engine);
  // SQLite can neither drop a default nor add a required column without one.
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
