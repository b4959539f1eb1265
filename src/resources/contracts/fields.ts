import { describedRef, nullableRef, objectSchema, refTo } from '../../http/openapi/openapi-schemas.ts';
import {
  filledText,
  idBesideCount,
  nullable,
  orNull,
  reference,
  references,
  servedProperties,
  text,
  TEXT,
  updatedAt,
  type RecordOf,
} from '../fields.ts';
import { CITY_SERVICE_EXAMPLE, COOP_EXAMPLE, LEAD_ENTITY_EXAMPLE, namedRef } from '../reference-lists/fields.ts';
import { fieldRenderer } from '../rendered-fields.ts';
import { embeddedSupplier } from '../suppliers/fields.ts';

/** A line of `contracts.ndjson`, and a contract as it is served. */
export const contractFields = {
  id: idBesideCount('The id of the contract.', 'ctr_pa_01e60812_47883'),
  name: filledText('The name of the contract.', 'MICROSOFT LICENSING'),
  summary: nullable(text('A short summary; null if there is none.')),
  description: nullable(text('What the contract covers; null if there is no description.')),
  lead_entity: reference(
    'lead_entity_id',
    'lead-entities',
    describedRef(namedRef, 'The organization that awarded the contract.', LEAD_ENTITY_EXAMPLE),
  ),
  coop: reference<'coop_id', string | null>(
    'coop_id',
    'coops',
    nullableRef(namedRef, 'The cooperative that the contract belongs to; null if it belongs to none.', COOP_EXAMPLE),
    orNull(TEXT),
  ),
  suppliers: references('supplier_ids', 'suppliers', 'sup_1', {
    items: refTo(embeddedSupplier),
    description: 'The suppliers on the contract.',
  }),
  city_services: references('city_service_ids', 'city-services', 'cs_1', {
    items: refTo(namedRef),
    description: 'The city services that the contract covers.',
    examples: [[CITY_SERVICE_EXAMPLE]],
  }),
  updated_at: updatedAt('When anything in this record last changed, including names and suppliers.'),
};

export type ContractRecord = RecordOf<typeof contractFields>;

export const contract = objectSchema(servedProperties(contractFields), {
  $id: 'Contract',
  description: 'A cooperative purchasing contract.',
});

export const renderContract = fieldRenderer(contractFields);
