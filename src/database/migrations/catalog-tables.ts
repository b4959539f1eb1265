import { EPOCH } from '../../timestamp.ts';
import type { Engine } from '../database.ts';
import { createIndex, orderedText } from './migration.ts';

/*
 * The statements that create the catalog's tables. `tables.ts` documents the columns. `pds restore` compares the text of a
 * file's schema with them, so tables that an upgrade does not create again keep theirs.
 */

export const INDEXED_TABLES = ['suppliers', 'contracts', 'solicitations'] as const;

export function releaseTable(engine: Engine): string {
  const text = orderedText(engine);
  return `create table catalog.publications (
    number bigint primary key, instant ${text} not null unique, token ${text} not null)`;
}

/** Lead entities, coops and city services. */
export function namedRefTables(engine: Engine): string[] {
  return ['lead_entities', 'coops', 'city_services'].map(
    (name) =>
      `create table catalog.${name} (id ${orderedText(engine)} primary key, name text not null, document text not null)`,
  );
}

export function certificationTable(engine: Engine): string {
  return `create table catalog.certifications (
    abbreviation ${orderedText(engine)} primary key,
    name text not null,
    type text not null,
    document text not null)`;
}

/**
 * Suppliers, contracts and solicitations. On SQLite, a primary key of the type `integer` is the row number, so records at
 * consecutive positions are beside each other in the file.
 */
export function recordTables(engine: Engine): string[] {
  const text = orderedText(engine);
  const columns = `
    position ${engine === 'sqlite' ? 'integer' : 'bigint'} primary key,
    id ${text} not null unique,
    line_hash text not null,
    changed_publication bigint not null,
    updated_at ${text},
    document text not null`;
  return [
    `create table catalog.suppliers (${columns},
      certifications_preview text not null,
      certifications_all text not null,
      short_intro text,
      about text)`,
    `create table catalog.contracts (${columns},
      lead_entity_id ${text} not null,
      coop_id ${text})`,
    `create table catalog.solicitations (${columns},
      detail text not null,
      ref bigint not null,
      lead_entity_id ${text} not null,
      status text not null,
      close_at ${text},
      updated_publication bigint not null,
      detail_publication bigint not null)`,
  ];
}

export function recordIndexes(engine: Engine): string[] {
  return [
    createIndex(engine, 'catalog', 'contracts', ['lead_entity_id', 'coop_id']),
    createIndex(engine, 'catalog', 'contracts', ['coop_id', 'lead_entity_id']),
    createIndex(engine, 'catalog', 'solicitations', ['lead_entity_id']),
    // `ref` is unique once an import is complete, but not at each step: two records may swap theirs.
    createIndex(engine, 'catalog', 'solicitations', ['ref']),
  ];
}

/** References between records, and which suppliers the contracts of a lead entity or coop show, since when. */
export function linkTables(engine: Engine): string[] {
  const text = orderedText(engine);
  const link = (table: string, owner: string, column: string): string[] => [
    `create table catalog.${table} (
      ${owner} ${text} not null, ${column} ${text} not null, primary key (${column}, ${owner}))`,
    createIndex(engine, 'catalog', table, [owner]),
  ];
  const visibility = (table: string, column: string): string[] => [
    `create table catalog.${table} (
      ${column} ${text} not null, supplier_id ${text} not null, since_publication bigint not null,
      primary key (supplier_id, ${column}))`,
    createIndex(engine, 'catalog', table, [column, 'supplier_id']),
  ];
  return [
    ...link('supplier_certifications', 'supplier_id', 'abbreviation'),
    ...link('supplier_city_services', 'supplier_id', 'city_service_id'),
    ...link('contract_suppliers', 'contract_id', 'supplier_id'),
    ...link('contract_city_services', 'contract_id', 'city_service_id'),
    ...visibility('supplier_lead_entities', 'lead_entity_id'),
    ...visibility('supplier_coops', 'coop_id'),
  ];
}

/** What the feed of changes needs beside the records. */
export function feedTables(engine: Engine): string[] {
  const text = orderedText(engine);
  return [
    `create table catalog.departures (
      kind ${text} not null, id ${text} not null, owner ${text} not null, release bigint not null,
      primary key (kind, id, owner))`,
    createIndex(engine, 'catalog', 'departures', ['release']),
    `create table catalog.feed (complete_before ${text} not null)`,
    `insert into catalog.feed (complete_before) values ('${EPOCH}')`,
  ];
}

/** The bitmap index. */
export function bitmapTables(engine: Engine): string[] {
  const text = orderedText(engine);
  return [
    ...INDEXED_TABLES.flatMap((kind) => [
      `create table catalog.${kind}_index (
        block integer not null, term ${text} not null, bits ${engine === 'sqlite' ? 'blob' : 'bytea'} not null, checksum integer,
        primary key (block, term))`,
      // Compressing bitmaps takes longer than writing them, and saves two percent.
      ...(engine === 'postgres' ? [`alter table catalog.${kind}_index alter bits set storage external`] : []),
    ]),
    // The blocks of each kind, ordered by their first ids.
    `create table catalog.index_blocks (
      kind ${text} not null, block integer not null, first_id ${text} not null, token text not null,
      primary key (kind, block))`,
  ];
}
