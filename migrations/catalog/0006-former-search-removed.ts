import type { Migration } from '../../src/database/migrations/migration.ts';

const DROPPED_TABLES = [
  'certifications_search',
  'suppliers_search',
  'contracts_search',
  'solicitations_search',
  'solicitation_totals',
  'supplier_states',
];

/** Used only by lists and filters of the former search. */
const DROPPED_INDEXES = [
  'suppliers_by_changed_publication_number',
  'contracts_by_lead_entity_id_number',
  'contracts_by_coop_id_number',
  'contracts_by_changed_publication_number',
  'solicitations_by_lead_entity_id_number',
  'solicitations_by_lead_entity_id_status_number_close_at',
  'solicitations_by_status_number_close_at',
  'solicitations_by_changed_publication_number_lead_entity_id',
  'solicitations_by_close_at_status_lead_entity_id',
];

/** Removes tables and indexes that only servers of version 1.1 read. */
export const formerSearchRemoved: Migration = {
  number: 6,
  name: 'the former search removed',
  isDeferred: true,
  statements: () => [
    ...DROPPED_TABLES.map((name) => `drop table catalog.${name}`),
    ...DROPPED_INDEXES.map((name) => `drop index catalog.${name}`),
  ],
};
