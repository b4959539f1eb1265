import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestApp, type TestApp } from './test-app.ts';

interface Operation {
  operationId: string;
  parameters?: { name: string; in: string }[];
  responses: Record<string, { $ref?: string; headers?: Record<string, { $ref: string }> }>;
}
interface Document {
  openapi: string;
  info: { version: string };
  servers: { description: string }[];
  paths: Record<string, { get?: Operation }>;
  components: { schemas: Record<string, object>; responses: Record<string, { headers: Record<string, object> }> };
}

let service: TestApp;
let document: Document;

beforeAll(async () => {
  service = await createTestApp();
  document = (await service.app.inject('/openapi.json')).json<Document>();
});
afterAll(() => service.close());

const PATHS = [
  '/v1/certifications',
  '/v1/city-services',
  '/v1/contracts',
  '/v1/contracts/{id}',
  '/v1/coops',
  '/v1/lead-entities',
  '/v1/solicitations',
  '/v1/solicitations/count',
  '/v1/solicitations/{id}',
  '/v1/suppliers',
  '/v1/suppliers/{id}',
];
const LISTS = PATHS.filter((path) => !/\{id\}|count$/.test(path));

const operations = (): [string, Operation][] =>
  Object.entries(document.paths).flatMap(([path, { get }]) => (get === undefined ? [] : [[path, get]]));

describe('the OpenAPI document', () => {
  test('is the one that is checked in (scripts/write-openapi.ts writes it anew)', () => {
    const checkedIn = readFileSync(new URL('../../docs/openapi.json', import.meta.url), 'utf8');
    expect(JSON.parse(checkedIn)).toEqual(document);
  });

  test('has all paths of the interface and health, and nothing but GET', () => {
    expect(document.openapi).toBe('3.1.0');
    expect(document.info.version).toBe('1.0.0');
    expect(document.servers.map(({ description }) => description)).toEqual(['Production', 'UAT', 'Dev']);
    expect(Object.keys(document.paths).sort()).toEqual(['/health', ...PATHS]);
    for (const methods of Object.values(document.paths)) expect(Object.keys(methods)).toEqual(['get']);
    const names = operations().map(([, { operationId }]) => operationId);
    expect(new Set(names).size).toBe(names.length);
  });

  test('says which errors each path has', () => {
    for (const [path, { responses }] of operations()) {
      if (path === '/health') continue;
      const errors = path.includes('{id}')
        ? ['400', '401', '403', '404', '429', '500']
        : ['400', '401', '403', '429', '500'];
      expect(Object.keys(responses), path).toEqual(['200', '304', ...errors]);
      expect(responses['401']).toEqual({ $ref: '#/components/responses/Unauthorized' });
    }
  });

  test('names only parameters that are refused when they are blank, except "q"', async () => {
    const { authorization: headers } = service;
    const accepted: string[] = [];
    for (const [path, { parameters = [] }] of operations()) {
      for (const { name } of parameters.filter((parameter) => parameter.in === 'query')) {
        for (const blank of ['', '=', '=%20']) {
          const answer = await service.app.inject({ url: `${path}?${name}${blank}`, headers });
          if (answer.statusCode === 200) accepted.push(name);
          else expect(answer.body).toContain(String.raw`\"${name}\" is blank`);
        }
      }
    }
    expect(new Set(accepted)).toEqual(new Set(['q']));
  });

  test('explains the headers: the request id everywhere, the watermark on lists', () => {
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

  test('gives the schemas names that a generated client can use', () => {
    const names = [
      'Certification',
      'Contract',
      'Count',
      'Error',
      'NamedRef',
      'Solicitation',
      'SolicitationDetail',
      'Supplier',
    ];
    for (const name of names) expect(document.components.schemas).toHaveProperty(name);
    expect(JSON.stringify(document)).not.toContain('def-');
  });

  test('names the parameters that the paths take', async () => {
    for (const [path, { parameters = [] }] of operations()) {
      const names = parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name);
      const answer = await service.app.inject({
        url: `${path.replace('{id}', 'some-id')}?no-such-parameter=1`,
        headers: service.authorization,
      });
      if (path === '/health') continue;
      const { message } = answer.json<{ error: { message: string } }>().error;
      expect(message).toContain(names.length === 0 ? 'this takes none' : `this takes ${names.join(', ')})`);
    }
  });
});
