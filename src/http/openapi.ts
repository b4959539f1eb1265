import swagger from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import { JSON_TYPE } from './error-handling.ts';
import { errorSchema, HEADERS } from './openapi-responses.ts';
import { registerStaticText } from './static-text.ts';

/** The address of the document. */
export const OPENAPI_PATH = '/openapi.json';

const DESCRIPTION = `Read-only access to cooperative purchasing contracts, solicitations (RFPs), suppliers and \
reference lists, as far as the scope of your API key reaches.

Lists are read page by page: pass \`meta.next_cursor\` as \`cursor\`, with the same filters, until it is null. To keep a \
copy in step, pass the \`X-Sync-Watermark\` of one walk as the \`updated_since\` of the next.

A parameter that is unknown, repeated or malformed is refused with 400; nothing is silently ignored. Whatever goes \
wrong, the answer has a \`request_id\`, to be quoted when you ask for help.`;

// The real addresses are given out with the keys; these only keep their place.
const SERVERS = [
  server('Production', 'https://production.invalid'),
  server('UAT', 'https://uat.invalid'),
  server('Dev', 'http://127.0.0.1:8080'),
];

const TAGS = [
  { name: 'Contracts', description: 'Cooperative purchasing contracts.' },
  { name: 'Suppliers', description: 'Suppliers and the certifications that they hold.' },
  { name: 'Solicitations', description: 'Open and historic solicitations (RFPs). Drafts are never served.' },
  { name: 'Reference lists', description: 'Certifications, lead entities, city services and cooperatives.' },
  { name: 'Service', description: 'The service itself.' },
];

/** As much of the document as is changed here after it was made from the schemas. */
interface Document {
  paths: Record<string, Record<string, { responses: Record<string, Response> }>>;
  components: { responses?: Record<string, Response> };
}
interface Response {
  headers?: Record<string, object>;
}

/** The names of the error responses that operations share. */
const SHARED_RESPONSES: Readonly<Record<string, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  429: 'TooManyRequests',
  500: 'InternalError',
};

/**
 * Makes an OpenAPI 3.1 document of the schemas of all routes that are registered after this.
 * The schemas are documentation only: parameters are checked by `parameters.ts`, and answers
 * are finished text.
 */
export async function addOpenApi(app: FastifyInstance): Promise<void> {
  app.setValidatorCompiler(() => () => true);
  app.setSerializerCompiler(() => (value) => JSON.stringify(value));
  app.addSchema(errorSchema);
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Partner data service',
        version: '1.0.0',
        description: DESCRIPTION,
        license: { name: 'MIT', identifier: 'MIT' },
      },
      servers: SERVERS,
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
    transformObject: (made) => {
      const document = 'openapiObject' in made ? made.openapiObject : {};
      shareParts(document as unknown as Document);
      return document;
    },
  });
}

/** `GET /openapi.json`: the document of all routes. */
export function registerOpenApi(app: FastifyInstance): void {
  registerStaticText(app, OPENAPI_PATH, JSON_TYPE, async () => JSON.stringify(app.swagger()));
}

function server(name: string, address: string) {
  const description = `Base address of the ${name} environment.`;
  return { url: '{base_url}', description: name, variables: { base_url: { default: address, description } } };
}

/** Each header, and each error response of the paths that need a key, stands in the document once. */
function shareParts({ paths, components }: Document): void {
  components.responses ??= {};
  for (const [path, methods] of Object.entries(paths)) {
    for (const { responses } of Object.values(methods)) {
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
