import type { FastifyInstance } from 'fastify';
import { JSON_TYPE } from '../response/send-text.ts';
import { healthResponses } from '../openapi/openapi-responses.ts';
import { object } from '../openapi/openapi-schemas.ts';

const HEALTHY = JSON.stringify({ status: 'ok' });

const healthSchema = object(
  { status: { type: 'string', const: 'ok', description: 'Always `ok`.' } },
  { $id: 'Health', description: 'The process responds.' },
);

/** `GET /health`: liveness of the process. Needs no key and uses no database. */
export function registerHealth(app: FastifyInstance): void {
  app.addSchema(healthSchema);
  app.get('/health', {
    schema: {
      operationId: 'getHealth',
      tags: ['Service'],
      summary: 'Check that the service responds',
      description: 'Needs no API key and does not use the database.',
      security: [],
      response: healthResponses(healthSchema),
    },
    handler: async (_request, reply) => reply.type(JSON_TYPE).send(HEALTHY),
  });
}
