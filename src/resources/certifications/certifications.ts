import type { FastifyInstance } from 'fastify';
import { freeText, oneOfParameter, type Filter } from '../../http/request/parameters.ts';
import { wordMatcher } from '../../index/words.ts';
import { keyedListing, storedWhole } from '../../paging/pages.ts';
import { registerList } from '../../paging/send.ts';
import type { RouteServices } from '../../services.ts';
import type { CertificationCondition, CertificationList } from './certification-list.ts';
import { certification, certificationType } from './fields.ts';

type CertificationFilter = Filter<string, null, CertificationCondition>;

const filters: { q: CertificationFilter; type: CertificationFilter } = {
  q: {
    ...freeText,
    conditions(q) {
      const matches = wordMatcher(q);
      return [({ termText }) => matches(termText)];
    },
  },
  type: {
    ...oneOfParameter(certificationType, 'Only certifications of this family.'),
    conditions: (type) => [(certification) => certification.type === type],
  },
};

/** GET /v1/certifications. */
export function registerCertifications(
  v1: FastifyInstance,
  services: RouteServices,
  certifications: CertificationList,
): void {
  for (const schema of [certificationType, certification]) v1.addSchema(schema);
  registerList(v1, services, {
    kind: 'certifications',
    schema: {
      operationId: 'listCertifications',
      tags: ['Reference lists'],
      summary: 'List certifications',
      description: 'All certifications, ordered by abbreviation; `q` searches names and abbreviations.',
    },
    record: certification,
    filters,
    listingOf: (conditionsIn) =>
      keyedListing(storedWhole('certifications', 'abbreviation'), async (snapshot, after) =>
        certifications.find(snapshot, await conditionsIn(null), after),
      ),
  });
}
