import type { FastifyInstance } from 'fastify';
import { listResponses, pageOf } from '../../http/openapi/openapi-responses.ts';
import {
  ABBREVIATION_PATTERN,
  filledText,
  MAX_ABBREVIATION_LENGTH,
  object,
  openEnum,
  refTo,
} from '../../http/openapi/openapi-schemas.ts';
import {
  cursorParameter,
  freeText,
  limitParameter,
  oneOfParameter,
  querystringSchema,
} from '../../http/request/parameters.ts';
import { storedWhole } from '../../paging/pages.ts';
import { sendList } from '../../paging/send-list.ts';
import type { Services } from '../../services.ts';
import type { CertificationFilters, CertificationList } from './certification-list.ts';

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

const parameters = {
  q: freeText,
  type: oneOfParameter(certificationType, 'Only certifications of this family.'),
  cursor: cursorParameter,
  limit: limitParameter,
};

/** GET /v1/certifications. */
export function registerCertifications(
  v1: FastifyInstance,
  services: Services,
  certifications: CertificationList,
): void {
  for (const schema of [certificationType, certification, certificationPage]) v1.addSchema(schema);

  v1.get('/certifications', {
    schema: {
      operationId: 'listCertifications',
      tags: ['Reference lists'],
      summary: 'List certifications',
      description: 'All certifications, ordered by abbreviation; `q` searches names and abbreviations.',
      querystring: querystringSchema(parameters),
      response: listResponses(certificationPage),
    },
    config: { kind: 'certifications', parameters },
    handler: (request, reply) =>
      sendList(services, request, reply, (filters: CertificationFilters) => ({
        records: storedWhole('certifications', 'abbreviation'),
        find: (_scope, after, limit) => certifications.find(filters, after, limit),
        forget: () => certifications.forget(),
      })),
  });
}
