import fc from 'fast-check';
import {
  authorizations,
  fuzzHeaders,
  type FuzzAuthorization,
  type FuzzHeaders,
  type FuzzKeys,
} from './fuzz-headers.ts';
import { queriesOf, type FuzzQuery, type KnownValues } from './fuzz-query.ts';
import { BROKEN_ENCODINGS, encodeText, hostileText } from './hostile-text.ts';
import type { OpenApiDocument } from '../support/openapi-document.ts';

/** The target of a request line. */
export interface FuzzTarget {
  readonly path: string;
  /** The path template in the OpenAPI document; null if the path may not be in the document. */
  readonly template: string | null;
  readonly query: FuzzQuery;
}

/** A request that the HTTP parser accepts, so that the service itself must detect any fault. */
export interface FuzzRequest {
  readonly method: string;
  readonly target: FuzzTarget;
  readonly authorization: FuzzAuthorization;
  readonly headers: FuzzHeaders;
  readonly body: string;
}

/** A cursor that the service issued, with the only request it is valid for. */
export interface IssuedCursor {
  readonly key: string;
  readonly path: string;
  readonly query: string;
  readonly cursor: string;
}

/** The material for requests, apart from the OpenAPI document. */
export interface FuzzMaterial {
  readonly keys: FuzzKeys;
  readonly known: KnownValues;
  /** Ids and refs of records, by the path template of their detail. */
  readonly ids: Readonly<Record<string, readonly string[]>>;
  readonly cursors: readonly IssuedCursor[];
}

const NO_QUERY: FuzzQuery = { text: '', verdict: 'right' };

/** Some of the other methods that Node's parser accepts; none opens a tunnel. */
const OTHER_METHODS = ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'QUERY', 'PROPFIND', 'SEARCH', 'PURGE'];

const method = fc.oneof(
  { weight: 8, arbitrary: fc.constant('GET') },
  { weight: 2, arbitrary: fc.constant('HEAD') },
  { weight: 1, arbitrary: fc.constantFrom(...OTHER_METHODS) },
);

/** A body with the headers that announce it; mostly empty. */
const body = fc.oneof(
  { weight: 12, arbitrary: fc.constant('') },
  { weight: 1, arbitrary: fc.constant('Content-Length: 5\r\n\r\nhello') },
  { weight: 1, arbitrary: fc.constant('Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n') },
  { weight: 1, arbitrary: fc.constant('Content-Length: 0\r\n\r\n') },
);

/** Valid and invalid requests for every path and parameter of the document, and for paths outside it. */
export function fuzzRequests(document: OpenApiDocument, material: FuzzMaterial): fc.Arbitrary<FuzzRequest> {
  const authorization = authorizations(material.keys);
  const target = fc.oneof(
    { weight: 10, arbitrary: documentedTargets(document, material) },
    { weight: 2, arbitrary: malformedTargets(document) },
    { weight: 1, arbitrary: strangeTargets },
  );
  const request = fc.record({ method, target, authorization, headers: fuzzHeaders, body });
  if (material.cursors.length === 0) return request;
  return fc.oneof({ weight: 9, arbitrary: request }, { weight: 1, arbitrary: requestsWithCursor(material) });
}

/** Paths of the document, with existing and unknown ids. */
function documentedTargets(document: OpenApiDocument, { known, ids }: FuzzMaterial): fc.Arbitrary<FuzzTarget> {
  const strangeId = fc
    .tuple(hostileText, fc.constantFrom('usual', 'all' as const))
    .filter(([text]) => text.isWellFormed() && !text.includes('\0') && !['', '.', '..'].includes(text))
    .map(([text, style]) => encodeText(text, style));
  return fc.oneof(
    ...Object.entries(document.paths).map(([template, { get }]) => {
      const id = fc.oneof(
        { weight: 2, arbitrary: fc.constantFrom(...(ids[template] ?? ['no_such_id'])) },
        { weight: 1, arbitrary: strangeId },
      );
      const path = template.includes('{id}')
        ? id.map((text) => template.replace('{id}', () => text))
        : fc.constant(template);
      return fc.record({ path, template: fc.constant(template), query: queriesOf(get, known) });
    }),
  );
}

/** Mutated paths of the document: they lead to one of its paths, or to none. */
function malformedTargets(document: OpenApiDocument): fc.Arbitrary<FuzzTarget> {
  const mutations: ((path: string) => string)[] = [
    (path) => `${path}/`,
    (path) => `/${path}`,
    (path) => path.replaceAll('/', '//'),
    (path) => path.replace('/', '/./'),
    (path) => `/x/..${path}`,
    (path) => `${path}/../../../health`,
    (path) => `${path}/..;/x`,
    (path) => `${path};a=b`,
    (path) => path.toUpperCase(),
    (path) => path.replace('o', '%6f'),
    (path) => path.replace('o', '%256f'),
    (path) => path.replace('v1', '%76%31'),
    (path) => path.replace('v1', 'V1'),
    (path) => path.replace('/', '%2F'),
    (path) => path.replace('/v1/', '/v1%2f'),
    (path) => path.replace('/v1/', '\\v1\\'),
    (path) => path.replace('/v1', '/v2'),
    (path) => path.replace('/v1', '/v1/v1'),
    (path) => `${path}.json`,
    (path) => `${path}%00`,
    (path) => `${path}%20`,
    (path) => `${path}%0d%0aX-Injected:%201`,
    (path) => `${path}#fragment`,
    (path) => `${path}${'/x'.repeat(1_000)}`,
    (path) => `${path}${'x'.repeat(10_000)}`,
    (path) => `http://elsewhere.example${path}`,
    (path) => `HTTPS://user:password@elsewhere.example:1${path}`,
    (path) => `//elsewhere.example${path}`,
    (path) => `http:${path}`,
    (path) => path.slice(1),
    (path) => `${path}/\xe9`,
    (path) => path.replace('c', 'с'.normalize()),
  ];
  return fc
    .tuple(
      fc.constantFrom(...Object.keys(document.paths).map((template) => template.replace('{id}', 'no_such_id'))),
      fc.constantFrom(...mutations),
    )
    .map(([path, mutate]) => ({ path: latin1(mutate(path)), template: null, query: NO_QUERY }));
}

/** Targets unrelated to the document. */
const strangeTargets: fc.Arbitrary<FuzzTarget> = fc
  .oneof(
    fc.constantFrom(...['/', '*', '//', '/v1', '/v1/', '/docs', '/openapi.json', '/docs/../v1/coops', '/favicon.ico']),
    fc.constantFrom(
      ...['/metrics', '/livez', '/readyz', '/.env', '/.git/config', '/v1/%2e%2e/health', '/v1/unreadable/'],
    ),
    fc.constantFrom(...['http://', 'http://x', 'http://x?limit=1', 'example.org:443', '?', '#', '/v1#', '/v1?x=#']),
    fc.constantFrom(...BROKEN_ENCODINGS).map((text) => `/v1/contracts/${text}`),
    fc.constantFrom(...BROKEN_ENCODINGS).map((text) => `/${text}`),
    hostileText.map((text) => `/v1/${encodeText(text, 'usual')}`.slice(0, 8_000)),
    hostileText.map((text) => `/${encodeText(text, 'all')}`.slice(0, 8_000)),
    fc.string({ unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)), minLength: 1 }),
  )
  .map((path) => ({ path, template: null, query: { text: '', verdict: 'unsure' } }));

/** A cursor with its own request, modified, from another partner, or for another list. */
function requestsWithCursor({ cursors, keys }: FuzzMaterial): fc.Arbitrary<FuzzRequest> {
  const changes: ((cursor: string, other: string) => string)[] = [
    (cursor) => cursor.slice(0, -1),
    (cursor) => cursor.slice(1),
    (cursor) => `${cursor}=`,
    (cursor) => `${cursor}A`,
    (cursor) => `${cursor}%0A`,
    (cursor) => cursor + cursor,
    (cursor) => cursor.toLowerCase(),
    (cursor, other) => cursor.slice(0, -20) + other.slice(-20),
    (cursor) => `${cursor.startsWith('A') ? 'B' : 'A'}${cursor.slice(1)}`,
    (cursor) => cursor.slice(0, -1) + (cursor.endsWith('w') ? 'x' : 'w'),
  ];
  const own = fc.constantFrom(...cursors);
  return fc
    .record({
      own,
      other: own,
      foreignKey: fc.constantFrom(...keys.good),
      limit: fc.integer({ min: 1, max: 100 }),
      change: fc.option(fc.constantFrom(...changes)),
      headers: fuzzHeaders,
      method: fc.constantFrom('GET', 'HEAD'),
    })
    .map(({ own: { key, path, query, cursor }, other, foreignKey, limit, change, headers, method: sentMethod }) => {
      const text = change === null ? cursor : change(cursor, other.cursor);
      const isForeign = foreignKey !== key || text !== cursor;
      return {
        method: sentMethod,
        target: {
          path,
          template: path,
          query: { text: `?${query}limit=${limit}&cursor=${text}`, verdict: isForeign ? 'wrong' : 'right' },
        },
        authorization: { lines: [['Authorization', `Bearer ${foreignKey}`]], holder: 'good', key: foreignKey },
        headers,
        body: '',
      };
    });
}

/** The UTF-8 bytes of a text as Latin-1, so that each is sent as one byte. */
function latin1(text: string): string {
  return Buffer.from(text).toString('latin1');
}
