import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { forAllTests } from '../support/lifetimes.ts';
import { operationsOf, schemasOf, schemasWithin, type OpenApiDocument } from '../support/openapi-document.ts';
import { createTestApp } from './test-app.ts';

let document: OpenApiDocument;
let document30: OpenApiDocument;

const service = forAllTests(createTestApp);
beforeAll(async () => {
  document = (await service.app.inject('/openapi.json')).json<OpenApiDocument>();
  document30 = (await service.app.inject('/openapi-3.0.json')).json<OpenApiDocument>();
});

const PATHS = [
  '/v1/certifications',
  '/v1/changes',
  '/v1/city-services',
  '/v1/contracts',
  '/v1/contracts/count',
  '/v1/contracts/{id}',
  '/v1/coops',
  '/v1/key',
  '/v1/lead-entities',
  '/v1/solicitations',
  '/v1/solicitations/count',
  '/v1/solicitations/{id}',
  '/v1/suppliers',
  '/v1/suppliers/count',
  '/v1/suppliers/{id}',
];
const LISTS = PATHS.filter((path) => !/\{id\}|count$|key$|changes$/.test(path));

const operations = () => operationsOf(document);
const allSchemas = () => schemasOf(document);

describe('the OpenAPI document', () => {
  test.each(['openapi.json', 'openapi-3.0.json'])('docs/%s is up to date with "npm run openapi"', (name) => {
    const checkedIn = readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8');
    expect(JSON.parse(checkedIn)).toEqual(name === 'openapi.json' ? document : document30);
  });

  test('lists every path, with GET only', () => {
    expect(document.openapi).toBe('3.1.0');
    expect(document.info.version).toBe('1.3.0');
    expect(Object.keys(document.paths).sort()).toEqual(['/health', ...PATHS]);
    for (const methods of Object.values(document.paths)) expect(Object.keys(methods)).toEqual(['get']);
    const names = operations().map(([, { operationId }]) => operationId);
    expect(new Set(names).size).toBe(names.length);
  });

  test('says of additions since which of its versions they exist, the last of which has one', () => {
    const since = [...JSON.stringify(document).matchAll(/ Since (\d+\.\d+\.\d+)\."/g)].map(([, version]) => version);
    expect([...new Set(since)].sort()).toEqual(['1.1.0', '1.2.0', document.info.version]);
  });

  test('lists the statuses of each path', () => {
    for (const [path, { responses }] of operations()) {
      const missing = path.includes('{id}') ? ['404'] : [];
      const ofPartners = ['200', '304', '400', '401', '403', ...missing, '405', '429', '500'];
      expect(Object.keys(responses), path).toEqual(path === '/health' ? ['200', '400', '405'] : ofPartners);
      if (path !== '/health') expect(responses['401']).toEqual({ $ref: '#/components/responses/Unauthorized' });
    }
  });

  test('lists only parameters that reject a blank value, except "q"', async () => {
    const { authorization: headers } = service;
    const accepted: string[] = [];
    for (const [path, { parameters = [] }] of operations()) {
      for (const { name } of parameters.filter((parameter) => parameter.in === 'query')) {
        for (const blank of ['', '=', '=%20']) {
          const response = await service.app.inject({ url: `${path}?${name}${blank}`, headers });
          if (response.statusCode === 200) accepted.push(name);
          else expect(response.body).toContain(String.raw`\"${name}\" is blank`);
        }
      }
    }
    expect(new Set(accepted)).toEqual(new Set(['q']));
  });

  test('describes X-Request-ID on every response, and X-Sync-Watermark on lists', () => {
    for (const [path, { responses }] of operations()) {
      const headers = Object.keys(responses['200']?.headers ?? {});
      expect(headers).toContain('X-Request-ID');
      expect(headers.includes('X-Sync-Watermark'), path).toBe(LISTS.includes(path));
    }
    for (const { headers } of Object.values(document.components.responses)) {
      expect(Object.keys(headers)).toContain('X-Request-ID');
    }
    expect(document.components.responses['TooManyRequests']?.headers).toHaveProperty('Retry-After');
  });

  test('has schema names that are fit for generated clients', () => {
    expect(Object.keys(document.components.schemas).sort()).toEqual([
      ...['Certification', 'CertificationPage', 'CertificationType', 'Change', 'ChangesPage'],
      ...['Contract', 'ContractPage', 'Count'],
      ...['EmbeddedSupplier', 'Error', 'ErrorCode', 'ErrorDetail', 'FeedFormat', 'FeedKind', 'FeedMeta'],
      ...['FeedTotals', 'Health'],
      ...['Key', 'KeyEnvironment', 'KeyUsage'],
      ...['ListFormat', 'NamedRef', 'NamedRefPage', 'PageMeta', 'ResourceKind'],
      ...['Solicitation', 'SolicitationDetail', 'SolicitationDocument', 'SolicitationNigpCode', 'SolicitationNotice'],
      ...['SolicitationPage', 'SolicitationQuestion', 'SolicitationRequestedItem', 'SolicitationStatus'],
      ...['Supplier', 'SupplierPage'],
    ]);
    expect(JSON.stringify(document)).not.toContain('def-');
  });

  test('lists the parameters that each path accepts', async () => {
    for (const [path, { parameters = [] }] of operations()) {
      const names = parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name);
      const response = await service.app.inject({
        url: `${path.replace('{id}', 'some-id')}?no-such-parameter=1`,
        headers: service.authorization,
      });
      if (path === '/health') continue;
      const { message } = response.json<{ error: { message: string } }>().error;
      expect(message).toContain(names.length === 0 ? 'Accepted: none.' : `Accepted: ${names.join(', ')}.`);
    }
  });

  test('names every object schema', () => {
    for (const [path, { responses }] of operations()) {
      for (const { content } of Object.values(responses)) {
        const { 'application/x-ndjson': ndjson, 'text/csv': csv, ...objects } = content ?? {};
        for (const { schema } of Object.values(objects)) expect(Object.keys(schema), path).toEqual(['$ref']);
        const streams = { ndjson: ndjson && 'string', csv: csv && 'string' };
        expect({ ndjson: ndjson?.schema.type, csv: csv?.schema.type }, path).toEqual(streams);
      }
    }
    for (const [name, schema] of Object.entries(document.components.schemas)) {
      for (const [where, nested] of schemasWithin(schema, name)) {
        if (where !== name) expect(nested.type, where).not.toBe('object');
      }
    }
  });

  test('gives every enum a type, and marks those that can gain values', () => {
    const enums = allSchemas().filter(([, schema]) => schema.enum !== undefined);
    expect(enums.map(([where]) => where)).toEqual([
      ...['ErrorCode', 'ListFormat', 'FeedFormat', 'Health.status', 'SolicitationStatus', 'FeedKind'],
      ...['CertificationType', 'KeyEnvironment', 'ResourceKind'],
    ]);
    for (const [where, schema] of enums) {
      expect(schema.type, where).toBe('string');
      // The `status` of /health will never have a value other than "ok".
      if (where === 'Health.status') continue;
      expect(schema['x-extensible-enum'], where).toEqual(schema.enum);
      expect(schema.description, where).toContain('New values can be added');
    }
  });

  test('expresses null by a type, or by oneOf beside a reference', () => {
    for (const [where, schema] of allSchemas()) {
      expect(schema, where).not.toHaveProperty('anyOf');
      expect(schema, where).not.toHaveProperty('nullable');
    }
    const { Contract: contract, Solicitation: solicitation } = document.components.schemas;
    expect(contract?.properties?.['summary']?.type).toEqual(['string', 'null']);
    expect(contract?.properties?.['coop']?.oneOf).toEqual([
      { $ref: '#/components/schemas/NamedRef' },
      { type: 'null' },
    ]);
    expect(solicitation?.properties?.['close_at']).toMatchObject({ type: ['string', 'null'], format: 'date-time' });
  });

  test('describes every schema, property, parameter, response and header', () => {
    const { schemas, responses: shared, headers } = document.components;
    const described: [string, string | undefined][] = [];
    const add = (where: string, description: string | undefined) => described.push([where, description]);
    for (const [name, schema] of Object.entries(schemas)) {
      for (const [where, inner] of schemasWithin(schema, name)) {
        // A bare reference has its target's description, and null needs none.
        if (inner.type !== 'null') add(where, inner.description ?? inner.$ref);
      }
    }
    for (const [path, { summary, description, parameters = [], responses }] of operations()) {
      add(`${path} (summary)`, summary);
      add(path, description);
      for (const parameter of parameters)
        add(`${path} ${parameter.name}`, parameter.description ?? parameter.schema.$ref);
      for (const [status, response] of Object.entries(responses))
        add(`${path} ${status}`, response.description ?? response.$ref);
    }
    for (const [name, header] of Object.entries({ ...shared, ...headers })) add(name, header.description);
    expect(described.filter(([, description]) => (description ?? '') === '')).toEqual([]);
    expect(described.length).toBeGreaterThan(200);
  });

  test('has the bounds of parameters and pages', () => {
    const parametersOf = (path: string) => document.paths[path]?.get.parameters ?? [];
    const schemaOf = (path: string, name: string) =>
      parametersOf(path).find((parameter) => parameter.name === name)?.schema;
    expect(schemaOf('/v1/contracts', 'q')?.maxLength).toBe(200);
    expect(schemaOf('/v1/suppliers', 'state')).toMatchObject({ pattern: '^([A-Za-z]{2})(,([A-Za-z]{2})){0,19}$' });
    for (const path of LISTS) {
      expect(schemaOf(path, 'limit')).toMatchObject({ minimum: 1, maximum: 100, default: 25 });
    }
    const pages = Object.entries(document.components.schemas).filter(([name]) => name.endsWith('Page'));
    expect(pages).toHaveLength(6);
    for (const [name, { properties }] of pages) expect(properties?.['data']?.maxItems, name).toBe(100);
  });

  test('describes conditional requests on every path under /v1, HEAD, and the 405 of other methods', () => {
    for (const [path, { parameters = [] }] of operations()) {
      const isConditional = parameters.some(
        (parameter) => parameter.in === 'header' && parameter.name === 'If-None-Match',
      );
      expect(isConditional, path).toBe(path !== '/health');
    }
    expect(Object.keys(document.components.responses['MethodNotAllowed']?.headers ?? {})).toContain('Allow');
    expect(JSON.stringify(document)).toContain('Every path accepts GET and HEAD');
  });

  test('lists its own host and the configured URL as servers', async () => {
    expect(document.servers.map(({ url }) => url)).toEqual(['/']);
    expect(JSON.stringify([document, document30])).not.toContain('.invalid');
    await using configured = await createTestApp({
      config: { publicUrl: 'https://uat.example.com', environment: 'uat' },
    });
    for (const path of ['/openapi.json', '/openapi-3.0.json']) {
      const { servers, info } = (await configured.app.inject(path)).json<OpenApiDocument>();
      expect(servers.map(({ url }) => url)).toEqual(['/', 'https://uat.example.com']);
      expect(servers[1]?.description).toContain('UAT');
      expect(info.contact.url).toBe('https://uat.example.com/docs');
    }
  });
});

describe('the OpenAPI 3.0 document', () => {
  test('has the same paths, parameters, statuses and schemas', () => {
    expect(document30.openapi).toBe('3.0.3');
    const outline = ({ paths, components }: OpenApiDocument) => ({
      operations: Object.entries(paths).map(([path, { get }]) => [
        path,
        get.operationId,
        get.parameters?.map(({ name }) => name),
        Object.keys(get.responses),
      ]),
      schemas: Object.entries(components.schemas).map(([name, { properties }]) => [
        name,
        Object.keys(properties ?? {}),
      ]),
    });
    expect(outline(document30)).toEqual(outline(document));
  });

  test('expresses null, examples and the license in the way of 3.0', () => {
    const { Contract: contract, Solicitation: solicitation } = document30.components.schemas;
    expect(contract?.properties?.['summary']).toMatchObject({ type: 'string', nullable: true });
    expect(contract?.properties?.['coop']?.oneOf).toEqual([
      { $ref: '#/components/schemas/NamedRef' },
      { type: 'object', nullable: true, enum: [null] },
    ]);
    expect(solicitation?.properties?.['title']).toHaveProperty('example');
    expect(document30.info.license).not.toHaveProperty('identifier');
    expect(JSON.stringify(document30)).not.toMatch(/"examples":|"const":|"type":\[/);
  });
});
