import { relations } from 'drizzle-orm';
import { bigint, boolean, customType, integer, jsonb, pgSchema, text, timestamp } from 'drizzle-orm/pg-core';

const plain = pgSchema('plain');
const tsvector = customType<{ data: string }>({ dataType: () => 'tsvector' });
const moment = (name: string) => timestamp(name, { withTimezone: true, mode: 'string' });

export const leadEntities = plain.table('lead_entities', { id: text('id').primaryKey(), name: text('name').notNull() });
export const coops = plain.table('coops', { id: text('id').primaryKey(), name: text('name').notNull() });
export const cityServices = plain.table('city_services', { id: text('id').primaryKey(), name: text('name').notNull() });

export const suppliers = plain.table('suppliers', {
  id: text('id').primaryKey(),
  name: text('name').notNull(),
  states_served: text('states_served').array().notNull(),
  location: text('location'),
  logo: text('logo'),
  email: text('email'),
  website: text('website'),
});

export const contracts = plain.table('contracts', {
  id: text('id').primaryKey(),
  name: text('name').notNull(),
  summary: text('summary'),
  description: text('description'),
  lead_entity_id: text('lead_entity_id').notNull(),
  coop_id: text('coop_id'),
  updated_at: moment('updated_at').notNull(),
});

export const contractSuppliers = plain.table('contract_suppliers', {
  contract_id: text('contract_id').notNull(),
  supplier_id: text('supplier_id').notNull(),
  place: integer('place').notNull(),
});

export const contractCityServices = plain.table('contract_city_services', {
  contract_id: text('contract_id').notNull(),
  city_service_id: text('city_service_id').notNull(),
  place: integer('place').notNull(),
});

export const solicitations = plain.table('solicitations', {
  id: text('id').primaryKey(),
  ref: bigint('ref', { mode: 'number' }).notNull(),
  reference_number: text('reference_number').notNull(),
  title: text('title').notNull(),
  status: text('status').notNull(),
  issuing_organization: text('issuing_organization'),
  lead_entity_id: text('lead_entity_id').notNull(),
  open_at: moment('open_at'),
  close_at: moment('close_at'),
  questions_due_at: moment('questions_due_at'),
  intent_to_bid_due_at: moment('intent_to_bid_due_at'),
  description: text('description'),
  require_intent_registration: boolean('require_intent_registration').notNull(),
  created_at: moment('created_at').notNull(),
  updated_at: moment('updated_at').notNull(),
  nigp_codes: jsonb('nigp_codes').notNull(),
  documents: jsonb('documents').notNull(),
  requested_items: jsonb('requested_items').notNull(),
  notices: jsonb('notices').notNull(),
  questions: jsonb('questions').notNull(),
  words: tsvector('words'),
});

export const solicitationsRelations = relations(solicitations, ({ one }) => ({
  lead_entity: one(leadEntities, { fields: [solicitations.lead_entity_id], references: [leadEntities.id] }),
}));

export const contractsRelations = relations(contracts, ({ one, many }) => ({
  lead_entity: one(leadEntities, { fields: [contracts.lead_entity_id], references: [leadEntities.id] }),
  coop: one(coops, { fields: [contracts.coop_id], references: [coops.id] }),
  suppliers: many(contractSuppliers),
  city_services: many(contractCityServices),
}));

export const contractSuppliersRelations = relations(contractSuppliers, ({ one }) => ({
  contract: one(contracts, { fields: [contractSuppliers.contract_id], references: [contracts.id] }),
  supplier: one(suppliers, { fields: [contractSuppliers.supplier_id], references: [suppliers.id] }),
}));

export const contractCityServicesRelations = relations(contractCityServices, ({ one }) => ({
  contract: one(contracts, { fields: [contractCityServices.contract_id], references: [contracts.id] }),
  city_service: one(cityServices, {
    fields: [contractCityServices.city_service_id],
    references: [cityServices.id],
  }),
}));
