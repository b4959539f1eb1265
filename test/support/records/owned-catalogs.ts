import fc from 'fast-check';
import type { Records } from '../../model/records.ts';
import { visibleTo, type ModelScope, type Visible } from '../../model/visibility.ts';
import type { PartnerSetup } from '../partners.ts';
import { contract, SMALL_CATALOG, solicitation, supplier } from '../publishing.ts';

/** Partners with every kind of grant, and one that is limited to some kinds. */
export const OWNED_PARTNERS: readonly PartnerSetup[] = [
  { name: 'acme', leadEntities: ['le_a'] },
  { name: 'bolt', leadEntities: ['le_b', 'le_c'], coops: ['co_x'] },
  { name: 'core', coops: ['co_x', 'co_y'] },
  { name: 'dune', everything: true },
  { name: 'echo', leadEntities: ['le_a'], coops: ['co_y'], kinds: ['suppliers', 'coops'] },
];

const leadEntity = fc.constantFrom('le_a', 'le_b', 'le_c');

/** The owners of each of eight contracts and six solicitations, and the suppliers; null for a record that is missing. */
const owned = fc.record({
  contracts: fc.array(
    fc.option(
      fc.record({
        lead_entity_id: leadEntity,
        coop_id: fc.constantFrom('co_x', 'co_y', null),
        supplier_ids: fc.subarray(['sup_1', 'sup_2', 'sup_3', 'sup_4']),
      }),
      { freq: 2 },
    ),
    { minLength: 8, maxLength: 8 },
  ),
  solicitations: fc.array(
    fc.option(fc.record({ lead_entity_id: leadEntity, status: fc.constantFrom('draft', 'open', 'closed') }), {
      freq: 2,
    }),
    { minLength: 6, maxLength: 6 },
  ),
  // Those that no contract names.
  suppliers: fc.subarray(['sup_5', 'sup_6']),
});

type OwnedCatalog = ReturnType<typeof ownedCatalogs>[number];

/** Catalogs in which contracts and solicitations have random owners, suppliers and statuses, or are missing. */
export function ownedCatalogs(count: number) {
  return fc.sample(owned, { seed: 20_260_421, numRuns: count }).map(({ contracts, solicitations, suppliers }) => ({
    'lead-entities': ['le_a', 'le_b', 'le_c'].map((id) => ({ id, name: id })),
    coops: ['co_x', 'co_y'].map((id) => ({ id, name: id })),
    'city-services': [{ id: 'cs_1', name: 'Paving' }],
    certifications: SMALL_CATALOG.certifications,
    suppliers: ['sup_1', 'sup_2', 'sup_3', 'sup_4', ...suppliers].map(supplier),
    contracts: contracts.flatMap((each, index) => (each === null ? [] : [{ ...contract(`ctr_${index}`), ...each }])),
    solicitations: solicitations.flatMap((each, index) =>
      each === null ? [] : [{ ...solicitation(`sol_${index}`, index + 1), ...each }],
    ),
  }));
}

/** The records of a catalog that a partner sees, by the model. */
export function visibleIn({ contracts, solicitations, suppliers }: OwnedCatalog, scope: ModelScope): Visible {
  const mapOf = (records: readonly { id: string }[]) =>
    new Map(records.map((record) => [record.id, { ...record, publishedAt: '2026-01-01T00:00:00.000Z' }]));
  return visibleTo(scope, {
    ...{ leadEntities: new Map(), coops: new Map(), cityServices: new Map(), certifications: new Map() },
    ...{ contracts: mapOf(contracts), solicitations: mapOf(solicitations), suppliers: mapOf(suppliers) },
  } as unknown as Records);
}
