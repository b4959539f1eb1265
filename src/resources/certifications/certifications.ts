import type { FastifyInstance } from 'fastify';
import { pageOf } from '../../http/openapi/openapi-responses.ts';
import {
  ABBREVIATION_PATTERN,
  filledText,
  MAX_ABBREVIATION_LENGTH,
  object,
  openEnum,
  refTo,
} from '../../http/openapi/openapi-schemas.ts';
import { freeText, oneOfParameter, type Filter } from '../../http/request/parameters.ts';
import { hasAllWords, queryWords } from '../../index/words.ts';
import { storedWhole } from '../../paging/pages.ts';
import { csvColumns } from '../../paging/csv.ts';
import { keyedListing, listRoute } from '../../paging/send.ts';
import type { Services } from '../../services.ts';
import type { CertificationCondition, CertificationList } from './certification-list.ts';

/** An abbreviation, as certifications and suppliers return it. */
export function abbreviationText(description: string) {
  return {
    type: 'string',
    minLength: 1,
    maxLength: MAX_ABBREVIATION_LENGTH,
    pattern: ABBREVIATION_PATTERN,
    description,
    examples: ['MBE'],
  };
}

const certificationType = openEnum(
  'CertificationType',
  ['sbe', 'technical'],
  'The family of a certification. `sbe`: small-business and diversity certifications.',
);

const certification = object(
  {
    name: filledText({ description: 'The full name, unique.', examples: ['Minority Business Enterprise'] }),
    type: refTo(certificationType),
    abbreviation: abbreviationText('The abbreviation, unique; lists are ordered by it.'),
  },
  {
    $id: 'Certification',
    description: 'A certification that suppliers can hold. The supplier filter accepts its abbreviation or its name.',
  },
);

const certificationPage = pageOf(certification, 'A page of certifications.');

type CertificationFilter = Filter<string, null, CertificationCondition>;

const filters: { q: CertificationFilter; type: CertificationFilter } = {
  q: {
    ...freeText,
    conditions(q) {
      const words = queryWords(q);
      return [({ terms }) => hasAllWords(terms, words)];
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
  services: Services,
  certifications: CertificationList,
): void {
  for (const schema of [certificationType, certification, certificationPage]) v1.addSchema(schema);

  v1.get(
    '/certifications',
    listRoute(services, {
      kind: 'certifications',
      schema: {
        operationId: 'listCertifications',
        tags: ['Reference lists'],
        summary: 'List certifications',
        description: 'All certifications, ordered by abbreviation; `q` searches names and abbreviations.',
      },
      page: certificationPage,
      columns: csvColumns(certification.properties),
      filters,
      listingOf: (conditionsIn) => ({
        ...keyedListing(storedWhole('certifications', 'abbreviation'), async (_scope, after, limit) =>
          certifications.find(await conditionsIn(null), after, limit),
        ),
        forget: () => certifications.forget(),
      }),
    }),
  );
}
