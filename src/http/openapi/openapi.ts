import swagger from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import type { Config } from '../../config.ts';
import { EncodedText, sendText, JSON_TYPE } from '../response/send-text.ts';
import { HEADERS, SHARED_SCHEMAS } from './openapi-responses.ts';
import { isPartnerPath } from '../request/request-head.ts';

const DESCRIPTION = `Read-only access to cooperative purchasing contracts, solicitations (RFPs), suppliers and \
reference lists. Each API key sees only the records that its partner has been granted.

To keep a copy, request \`/v1/changes\`: it lists every contract, solicitation and supplier that changed, became visible \
to you or was removed. Follow \`meta.next_cursor\` until it is null. Then save \`meta.watermark\` with the records, and pass \
it as \`updated_since\` the next time.

To read a list once, add \`format=ndjson\` or \`format=csv\`: the response is the whole list. Or read it page by page: pass \
\`meta.next_cursor\` as \`cursor\`, with the same filters, until it is null.

An unknown, repeated or malformed parameter is an error (400); nothing is silently ignored. Every error has a \
\`request_id\`: include it when you contact support.

Every path accepts GET and HEAD; other methods get 405. Requests under \`/v1\` can be conditional \
(\`If-None-Match\`).`;

const INFO = { title: 'Partner data service', version: '1.3.0', description: DESCRIPTION };

const CONTACT = 'Partner support: the people who gave you your API key';

const ENVIRONMENT_NAMES = { production: 'production', uat: 'UAT (test)', dev: 'development (local)' } as const;

const CONDITIONAL_HEADERS = {
  type: 'object',
  properties: {
    'If-None-Match': {
      type: 'string',
      // No example: tools would send it.
      description:
        'The `ETag` of an earlier response, such as `W/"8Kz0qv3mXc1JYbWm5oGfTA"`. If nothing has changed since, the ' +
        'response is 304 without a body.',
    },
  },
};

const TAGS = [
  { name: 'Contracts', description: 'Cooperative purchasing contracts.' },
  { name: 'Suppliers', description: 'Suppliers and their certifications.' },
  { name: 'Solicitations', description: 'Open and historic solicitations (RFPs). Drafts are never served.' },
  { name: 'Changes', description: 'What changed since your last listing: the way to keep a copy.' },
  { name: 'Reference lists', description: 'Certifications, lead entities, city services and cooperatives.' },
  { name: 'Service', description: 'The service itself, and your key.' },
];

/** The parts of the generated document that are changed here. */
interface Document {
  paths: Record<string, Record<string, { parameters?: Parameter[]; responses: Record<string, Response> }>>;
  components: { responses?: Record<string, Response> };
}
interface Parameter {
  schema: { allOf?: [object] };
}
interface Response {
  headers?: Record<string, object>;
}

const SHARED_RESPONSES: Readonly<Record<string, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  429: 'TooManyRequests',
  500: 'InternalError',
};

/** By the function that generates each document. OpenAPI 3.0 is for tools that do not know 3.1. */
const VERSIONS = {
  swagger: { openapi: '3.1.0', license: { name: 'MIT', identifier: 'MIT' } },
  swagger30: { openapi: '3.0.3', license: { name: 'MIT', url: 'https://opensource.org/license/mit' } },
} as const;

declare module 'fastify' {
  interface FastifyInstance {
    swagger30: FastifyInstance['swagger'];
  }
}

/** Generates the OpenAPI documents, 3.1 and 3.0, from the schemas of all routes registered after this call. */
export async function addOpenApi(app: FastifyInstance, config: Config): Promise<void> {
  for (const schema of SHARED_SCHEMAS) app.addSchema(schema);
  const { publicUrl } = config;
  const contact = { name: CONTACT, ...(publicUrl !== null && { url: `${publicUrl}/docs` }) };
  for (const [decorator, { openapi, license }] of Object.entries(VERSIONS)) {
    await app.register(swagger, {
      decorator: decorator as 'swagger',
      hideUntagged: true,
      openapi: {
        openapi,
        info: { ...INFO, license, contact },
        servers: serversOf(config),
        tags: TAGS,
        security: [{ apiKey: [] }],
        components: {
          securitySchemes: {
            apiKey: { type: 'http', scheme: 'bearer', description: 'Your API key: `pds_live_…` or `pds_test_…`.' },
          },
          headers: HEADERS,
        },
      },
      refResolver: { buildLocalReference: ({ $id }) => (typeof $id === 'string' ? $id : 'Unnamed') },
      transform: ({ schema, url }) => ({
        url,
        schema: isPartnerPath(url) ? { ...schema, headers: CONDITIONAL_HEADERS } : schema,
      }),
      transformObject: (made) => {
        const document = 'openapiObject' in made ? made.openapiObject : {};
        shareParts(document as unknown as Document);
        return document;
      },
    });
  }
}

/** `GET /openapi.json` and `GET /openapi-3.0.json`. */
export function registerOpenApi(app: FastifyInstance): void {
  registerDocument(app, '/openapi.json', () => app.swagger());
  registerDocument(app, '/openapi-3.0.json', () => app.swagger30());
}

/** Renders the document on the first request and compresses it once: routes without a key must cost nothing. */
function registerDocument(app: FastifyInstance, path: string, make: () => object): void {
  let text: EncodedText | undefined;
  app.get(path, async (request, reply) => {
    text ??= new EncodedText(JSON.stringify(make()));
    return sendText(request, reply.header('cache-control', 'no-cache'), text, JSON_TYPE);
  });
}

function serversOf({ publicUrl, environment }: Config): { url: string; description: string; 'x-internal': false }[] {
  const here = { url: '/', description: 'The host that serves this document: production, UAT or development.' };
  const listed = { url: publicUrl ?? '', description: `The ${ENVIRONMENT_NAMES[environment]} environment.` };
  return [here, ...(publicUrl === null ? [] : [listed])].map((server) => ({ ...server, 'x-internal': false }));
}

/** Moves each header, and each error response of paths that need a key, into `components`. */
function shareParts({ paths, components }: Document): void {
  components.responses ??= {};
  for (const [path, methods] of Object.entries(paths)) {
    for (const { parameters = [], responses } of Object.values(methods)) {
      // @fastify/swagger has moved the description from the schema to the parameter, so only the reference is left.
      for (const parameter of parameters) parameter.schema = parameter.schema.allOf?.[0] ?? parameter.schema;
      for (const [status, response] of Object.entries(responses)) {
        const names = Object.keys(response.headers ?? {});
        response.headers = Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
        const shared = SHARED_RESPONSES[status];
        if (shared === undefined || !path.startsWith('/v1/')) continue;
        components.responses[shared] ??= response;
        responses[status] = { $ref: `#/components/responses/${shared}` } as Response;
      }
    }
  }
}
