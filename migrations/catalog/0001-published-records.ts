import { createIndex, orderedText, rowNumber, type Migration } from '../../src/database/migrations/migration.ts';

export const publishedRecords: Migration = {
  number: 1,
  name: 'published records',
  statements(engine) {
    const text = orderedText(engine);
    const index = (table: string, ...columns: string[]): string => createIndex(engine, 'catalog', table, columns);
    const namedRefs = (table: string): string =>
      `create table catalog.${table} (id ${text} primary key, name text not null, document text not null)`;
    const publishedColumns = `
      number ${rowNumber(engine)} primary key,
      id ${text} not null unique,
      hash text not null,
      changed_publication bigint not null,
      updated_at ${text}`;
    return [
      `create table catalog.publications (number bigint primary key, instant ${text} not null unique)`,
      namedRefs('lead_entities'),
      namedRefs('coops'),
      namedRefs('city_services'),
      `create table catalog.certifications (
        number ${rowNumber(engine)} primary key,
        abbreviation ${text} not null unique,
        name text not null,
        type text not null,
        document text not null)`,
      `create table catalog.suppliers (${publishedColumns},
        document text not null,
        certifications_preview text not null,
        certifications_all text not null)`,
      index('suppliers', 'changed_publication', 'id'),
      `create table catalog.supplier_states (
        supplier_id ${text} not null, state ${text} not null, primary key (state, supplier_id))`,
      index('supplier_states', 'supplier_id'),
      `create table catalog.supplier_certifications (
        supplier_id ${text} not null, abbreviation ${text} not null, primary key (abbreviation, supplier_id))`,
      index('supplier_certifications', 'supplier_id'),
      `create table catalog.supplier_city_services (
        supplier_id ${text} not null, city_service_id ${text} not null, primary key (city_service_id, supplier_id))`,
      index('supplier_city_services', 'supplier_id'),
      `create table catalog.contracts (${publishedColumns},
        lead_entity_id ${text} not null,
        coop_id ${text},
        document text not null)`,
      index('contracts', 'lead_entity_id', 'id'),
      index('contracts', 'coop_id', 'id'),
      index('contracts', 'changed_publication', 'id'),
      `create table catalog.contract_suppliers (
        contract_id ${text} not null, supplier_id ${text} not null, primary key (supplier_id, contract_id))`,
      index('contract_suppliers', 'contract_id'),
      `create table catalog.contract_city_services (
        contract_id ${text} not null, city_service_id ${text} not null, primary key (city_service_id, contract_id))`,
      index('contract_city_services', 'contract_id'),
      // The suppliers that the contracts of a lead entity or coop make visible, and the publication that first did.
      `create table catalog.supplier_lead_entities (
        lead_entity_id ${text} not null, supplier_id ${text} not null, since_publication bigint not null,
        primary key (supplier_id, lead_entity_id))`,
      index('supplier_lead_entities', 'lead_entity_id', 'supplier_id'),
      `create table catalog.supplier_coops (
        coop_id ${text} not null, supplier_id ${text} not null, since_publication bigint not null,
        primary key (supplier_id, coop_id))`,
      index('supplier_coops', 'coop_id', 'supplier_id'),
      // `ref` is unique once an import is complete, but not at each step: two records may swap theirs.
      `create table catalog.solicitations (${publishedColumns},
        ref bigint not null,
        lead_entity_id ${text} not null,
        status text not null,
        close_at ${text},
        own_hash text not null,
        updated_publication bigint not null,
        document text not null,
        detail text not null)`,
      index('solicitations', 'ref'),
      index('solicitations', 'lead_entity_id', 'id'),
      index('solicitations', 'changed_publication', 'id'),
    ];
  },
};
