import type { FilterValues } from './filter-combinations.ts';
import { SKEWED } from './skewed-catalog.ts';

const Q = [SKEWED.rareWord, SKEWED.commonWord, SKEWED.twoWords, SKEWED.shortPrefix];
/** The most values that a filter takes: the sets of all of them are read. */
const MANY_LEAD_ENTITIES = SKEWED.grantedLeadEntities.slice(290, 310).join(',');
const LEAD_ENTITY = [SKEWED.ungrantedLeadEntity, SKEWED.largestLeadEntity, MANY_LEAD_ENTITIES];

/**
 * The filter values for the lists of the skewed catalog, by path.
 *
 * @param updatedSince one timestamp before the grants, since which half of the records have changed, and one after
 * them, since which few have.
 */
export function skewedFilters(updatedSince: readonly string[]) {
  return {
    '/v1/contracts': {
      q: Q,
      lead_entity: LEAD_ENTITY,
      coop: [SKEWED.commonCoop],
      supplier: [SKEWED.commonSupplier, SKEWED.rareSupplier],
      city_service: [SKEWED.commonCityService],
      updated_since: updatedSince,
    },
    '/v1/suppliers': {
      q: Q,
      state: [SKEWED.commonState, SKEWED.rareState],
      certifications: [SKEWED.commonCertifications, SKEWED.rareCertification],
      city_service: [SKEWED.commonCityService],
      updated_since: updatedSince,
    },
    '/v1/solicitations': {
      q: [...Q, SKEWED.sequentialPrefix],
      status: ['open,awarded,cancelled'],
      lead_entity: LEAD_ENTITY,
      nigp: [`${SKEWED.commonNigp},90600`],
      // The same comparison as `closing_after` with another term beside it.
      is_open: ['true'],
      closing_before: ['2024-05-20T12:00:00Z'],
      updated_since: updatedSince,
    },
    '/v1/certifications': { q: Q, type: ['sbe', 'technical'] },
    '/v1/lead-entities': { q: Q },
    '/v1/coops': { q: Q },
    '/v1/city-services': { q: Q },
  } satisfies Record<string, FilterValues>;
}

/** Partners with very different scopes. */
export const SKEWED_PARTNERS = {
  'a partner that sees everything': { name: 'everything', everything: true },
  'a partner with 341 grants': {
    name: 'many',
    leadEntities: SKEWED.grantedLeadEntities,
    coops: SKEWED.grantedCoops,
  },
  'a partner of one small lead entity': { name: 'small', leadEntities: [SKEWED.smallLeadEntity] },
  'a partner of the lead entity that holds most': { name: 'largest', leadEntities: [SKEWED.largestLeadEntity] },
} as const;
