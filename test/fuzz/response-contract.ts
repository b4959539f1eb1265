import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { ValidateFunction } from 'ajv';
import type { RawResponse } from '../support/network/raw-http.ts';
import { readOpenApiDocument, templateOf, type OpenApiDocument } from '../support/openapi-document.ts';

/** Under /docs: pages, redirects, errors, and the preconditions of static files. */
const PORTAL_STATUSES = [200, 302, 304, 400, 404, 405, 412];

/** All headers that a response can have. Any other has been injected. */
const KNOWN_HEADERS = new Set([
  ...['allow', 'cache-control', 'connection', 'content-encoding', 'content-length', 'content-type', 'date', 'etag'],
  ...['content-security-policy', 'keep-alive', 'ratelimit', 'ratelimit-policy', 'referrer-policy', 'retry-after'],
  ...['location', 'vary', 'www-authenticate', 'x-content-type-options', 'x-key-expires-at', 'x-request-id'],
  ...['content-disposition', 'link', 'transfer-encoding', 'x-sync-watermark'],
]);

const JSON_TYPE = 'application/json; charset=utf-8';
const HTML_TYPE = 'text/html; charset=utf-8';
const REQUEST_ID = /^req_[\w-]{22}$/;

/** The error code for each status. */
const CODES: Readonly<Record<number, string>> = {
  400: 'validation_failed',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  405: 'validation_failed',
  429: 'rate_limited',
};

/** The properties of the request on which the contract of its response depends. */
export interface SentRequest {
  readonly method: string;
  /** The decoded path; null if it cannot be decoded. */
  readonly path: string | null;
  /** Whether the key is accepted; null if unknown. */
  readonly hasValidKey: boolean | null;
}

/** Checks a response against everything the API guarantees for every response. */
export class ResponseContract {
  readonly #document: OpenApiDocument;
  readonly #ajv = new Ajv2020({ strict: false, validateFormats: false });
  readonly #validators = new Map<string, ValidateFunction>();

  constructor(document = readOpenApiDocument()) {
    this.#document = document;
    this.#ajv.addSchema(document, 'openapi');
  }

  /**
   * @param request null if it is undecidable what the bytes requested.
   * @returns one sentence for each broken guarantee.
   */
  faultsOf(request: SentRequest | null, response: RawResponse): string[] {
    const { status, headers } = response;
    const { method, path, hasValidKey } = request ?? { method: 'GET', path: null, hasValidKey: null };
    const faults: string[] = [];
    const expect = (holds: boolean, sentence: string): void => {
      if (!holds) faults.push(sentence);
    };
    const has = (name: string): boolean => headers.has(name);
    // The portal's files are static: they have validators of their own.
    const isPortal = path === null ? has('etag') && has('referrer-policy') : /^\/docs(\/|$)/.test(path);
    for (const [name, value] of headers) {
      expect(KNOWN_HEADERS.has(name), `a header ${name}: ${value}`);
      expect(!value.includes('\n'), `the header ${name} is repeated`);
    }
    expect(
      REQUEST_ID.test(headers.get('x-request-id') ?? ''),
      `X-Request-ID is ${headers.get('x-request-id') ?? 'missing'}`,
    );
    expect(headers.get('x-content-type-options') === 'nosniff', 'content types can be sniffed');
    if (isPortal) {
      expect(PORTAL_STATUSES.includes(status), `the status ${status}`);
      return faults;
    }
    const isUnread = headers.get('cache-control') === 'no-store' && !has('vary');
    const isPartners = path !== null && /^\/v1(\/|$)/.test(path);
    if (status === 200 || status === 304) {
      const template = path === null ? null : templateOf(this.#document, path);
      expect(
        template !== null || request === null || (!isPartners && path !== null),
        `${status} for an undocumented path`,
      );
      expect(!isPartners || hasValidKey !== false, `${status} without a valid key`);
      if (template !== null) faults.push(...this.#faultsOfSuccess(template, method, response));
    } else if (status === 302) {
      const location = headers.get('location') ?? '';
      expect(!isPartners && /^\/docs(\/[\w/-]*)?$/.test(location), `302 for ${path ?? 'unknown'} to ${location}`);
    } else {
      expect(CODES[status] !== undefined, `the status ${status}`);
      // Outside /v1, a client that accepts HTML gets the portal's page.
      const isPage = status === 404 && !isPartners && headers.get('content-type') === HTML_TYPE;
      if (method !== 'HEAD' && !isPage) faults.push(...this.#faultsOfError(response));
    }
    if (isPartners && !isUnread) {
      expect(
        headers.get('vary') === 'Authorization, Accept, Accept-Encoding',
        `Vary is ${headers.get('vary') ?? 'missing'}`,
      );
      expect(
        headers.get('cache-control') === 'private, no-cache',
        `Cache-Control is ${headers.get('cache-control') ?? 'missing'}`,
      );
      const hasLimits = has('ratelimit') && has('ratelimit-policy');
      if (hasValidKey === true) expect(hasLimits, 'no rate limit headers for a valid key');
      if (hasValidKey === false) expect(!has('ratelimit'), 'rate limit headers without a valid key');
    }
    expect(has('location') === (status === 302), 'Location');
    expect(has('retry-after') === (status === 429), 'Retry-After');
    expect(has('allow') === (status === 405), 'Allow');
    expect(has('www-authenticate') === (status === 401), 'WWW-Authenticate');
    return faults;
  }

  #faultsOfSuccess(template: string, method: string, response: RawResponse): string[] {
    const { status, headers, body } = response;
    const faults: string[] = [];
    if (template !== '/health' && !/^W\/"[\w-]{22}"$/.test(headers.get('etag') ?? '')) faults.push('no ETag');
    const entry = this.#document.paths[template]?.get.responses[status];
    const documented = Object.keys(entry?.headers ?? {});
    for (const name of documented)
      if (!['X-Key-Expires-At', 'Link'].includes(name) && !headers.has(name.toLowerCase()))
        faults.push(`${name} is documented and missing`);
    if (method === 'HEAD' || status === 304) return faults;
    const type = headers.get('content-type') ?? 'missing';
    const [media = ''] = type.split(';');
    if (media !== 'application/json' && entry?.content?.[media] !== undefined) {
      return [...faults, ...faultsOfStream(media, headers, body)];
    }
    if (type !== JSON_TYPE) faults.push(`Content-Type ${type}`);
    const pointer = `openapi#/paths/${encodeURI(template.replaceAll('/', '~1'))}/get/responses/${status}`;
    faults.push(...this.#faultsOfBody(`${pointer}/content/application~1json/schema`, decodeBody(headers, body)));
    return faults;
  }

  #faultsOfError({ status, headers, body }: RawResponse): string[] {
    const text = decodeBody(headers, body);
    const faults = this.#faultsOfBody('openapi#/components/schemas/Error', text);
    if (faults.length > 0) return faults;
    const { error, ...others } = JSON.parse(text) as { error: Record<string, unknown> };
    if (Object.keys(others).length > 0) faults.push('unknown fields in the envelope');
    if (Object.keys(error).join() !== 'code,message,request_id')
      faults.push(`the error has ${Object.keys(error).join()}`);
    if (error['request_id'] !== headers.get('x-request-id')) faults.push('different request ids in header and body');
    if (error['code'] !== CODES[status]) faults.push(`${status} with the code ${String(error['code'])}`);
    if (headers.get('content-type') !== JSON_TYPE)
      faults.push(`Content-Type ${headers.get('content-type') ?? 'missing'}`);
    return faults;
  }

  #faultsOfBody(schema: string, text: string): string[] {
    let validate = this.#validators.get(schema);
    if (validate === undefined) this.#validators.set(schema, (validate = this.#ajv.compile({ $ref: schema })));
    try {
      return validate(JSON.parse(text)) ? [] : [`the body: ${this.#ajv.errorsText(validate.errors)}`];
    } catch (error) {
      return [`the body is not JSON: ${String(error)}`];
    }
  }
}

function faultsOfStream(media: string, headers: ReadonlyMap<string, string>, body: Buffer): string[] {
  const faults = headers.has('content-length') ? ['a stream has a Content-Length'] : [];
  const text = decodeBody(headers, body);
  if (text !== '' && !text.endsWith('\n')) faults.push('the stream does not end with a line feed');
  if (media !== 'application/x-ndjson') return faults;
  try {
    for (const line of text.split('\n').slice(0, -1)) JSON.parse(line);
  } catch (error) {
    faults.push(`a line is not JSON: ${String(error)}`);
  }
  return faults;
}

const DECOMPRESS: Readonly<Record<string, (body: Buffer) => Buffer>> = {
  br: (body) => brotliDecompressSync(body),
  gzip: (body) => gunzipSync(body),
  zstd: (body) => zstdDecompressSync(body),
};

/** The text of a body, decompressed by its Content-Encoding. */
export function decodeBody(headers: ReadonlyMap<string, string>, body: Buffer): string {
  const encoding = headers.get('content-encoding');
  const decompress = DECOMPRESS[encoding ?? ''];
  return (decompress === undefined ? body : decompress(body)).toString('utf8');
}
