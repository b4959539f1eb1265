import type { FastifyInstance } from 'fastify';
import { listResponses } from '../../http/openapi-responses.ts';
import { cursorParameter, freeText, limitParameter, oneOfParameter, querystringSchema } from '../../http/parameters.ts';
import { sendList } from '../../paging/send-list.ts';
import type { Services } from '../../services.ts';
import type { CertificationFilters, CertificationList } from './certification-list.ts';
import { storedWhole } from '../../paging/page-statement.ts';
import { certification, certificationPage, certificationType } from './schema.ts';

const parameters = {
  q: freeText,
  type: oneOfParameter(certificationType, 'Only certifications of this family.'),
  cursor: cursorParameter,
  limit: limitParameter,
};

/** GET /v1/certifications. */
export function registerCertifications(
  app: FastifyInstance,
  services: Services,
  certifications: CertificationList,
): void {
  for (const schema of [certificationType, certification, certificationPage]) app.addSchema(schema);

  app.get('/v1/certifications', {
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
