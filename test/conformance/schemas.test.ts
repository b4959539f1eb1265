import { Ajv2020 } from 'ajv/dist/2020.js';
import { beforeAll, expect, test } from 'vitest';
import { KINDS_AS_LISTED } from '../../src/kinds.ts';
import { createDirectories } from '../support/data.ts';
import { forAllTests } from '../support/lifetimes.ts';
import type { OpenApiDocument } from '../support/openapi-document.ts';
import { startService } from '../support/service.ts';

/** Enough to include records from every source, generated ones too. */
const PAGES = 6;
const DETAILS_OF_A_PAGE = 20;
const LISTS = [...KINDS_AS_LISTED, 'changes'];

let ajv: Ajv2020;
let document: OpenApiDocument;

const records = forAllTests(() => createDirectories(5));
const service = forAllTests(() =>
  startService({ directories: records.first, partners: [{ name: 'all', everything: true }] }),
);
beforeAll(async () => {
  document = JSON.parse((await service.get('/openapi.json')).body) as OpenApiDocument;
  ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addKeyword({
    keyword: 'fieldOrder',
    type: 'object',
    validate: (names: string[], fields: object) =>
      Object.keys(fields).join() === names.filter((name) => name in fields).join(),
  });
  for (const schema of Object.values(document.components.schemas)) {
    if (schema.properties !== undefined) schema['fieldOrder'] = Object.keys(schema.properties);
  }
  ajv.addSchema(document, 'openapi');
}, 60_000);

/** Validates a response against the document's schema for its path; empty if it is valid. */
async function faultsOf(path: string, url: string): Promise<{ faults: string; json: Page }> {
  const pointer = encodeURI(path.replaceAll('/', '~1'));
  const isValid = ajv.compile({
    $ref: `openapi#/paths/${pointer}/get/responses/200/content/application~1json/schema`,
  });
  const { status, body } = await service.get(url, { key: service.partner('all').key });
  const json = JSON.parse(body) as Page;
  return { faults: status === 200 && isValid(json) ? '' : `${url}: ${ajv.errorsText(isValid.errors)}`, json };
}

interface Page {
  data: { id: string }[];
  meta: { next_cursor: string | null };
}

test.each(LISTS)('every response of %s matches the OpenAPI document, its fields in the same order', async (kind) => {
  const list = `/v1/${kind}`;
  const detail = `${list}/{id}`;
  let cursor: string | null = '';
  for (let page = 0; page < PAGES && cursor !== null; page += 1) {
    const { faults, json } = await faultsOf(list, `${list}?limit=100${cursor && `&cursor=${cursor}`}`);
    expect(faults).toBe('');
    cursor = json.meta.next_cursor;
    if (!(detail in document.paths)) continue;
    for (const { id } of json.data.slice(0, DETAILS_OF_A_PAGE)) {
      expect((await faultsOf(detail, `${list}/${id}`)).faults).toBe('');
    }
  }
});

/** Validates the headers of a response against the document; empty if they are valid. */
function headerFaults(path: string, { status, headers }: Response): string[] {
  let response = document.paths[path]?.get.responses[status];
  if (response?.$ref !== undefined) {
    response = document.components.responses[response.$ref.replace('#/components/responses/', '')];
  }
  if (response === undefined) return [`${path}: the document has no ${status}`];
  return Object.keys(response.headers ?? {}).flatMap((name) => {
    const schema = document.components.headers[name]?.schema;
    const value = headers.get(name);
    // Only on responses to keys near their end (access/own-key.test.ts), and before the last page (cursors.test.ts).
    if (['X-Key-Expires-At', 'Link'].includes(name) && value === null) return [];
    if (schema === undefined || value === null) return [`${path}: ${name} is missing`];
    const isNumber = 'type' in schema && schema.type === 'integer';
    const isValid = ajv.validate(schema, isNumber ? Number(value) : value);
    return isValid ? [] : [`${path}: ${name}: ${value}`];
  });
}

test('200, 304, HEAD, 400, 401 and 405 of every path have the headers and the bodies of the OpenAPI document', async () => {
  const { key } = service.partner('all');
  const isError = ajv.compile({ $ref: 'openapi#/components/schemas/Error' });
  for (const path of Object.keys(document.paths)) {
    const isPartners = path !== '/health';
    const list = path.replace('/{id}', '');
    const id = path === list ? '' : (JSON.parse((await service.get(list, { key })).body) as Page).data[0]?.id;
    const ask = (init: RequestInit = {}, query = '', headers: Record<string, string> = {}) =>
      fetch(`${service.url}${path.replace('{id}', id ?? '')}${query}`, {
        ...init,
        headers: { ...(isPartners && { authorization: `Bearer ${key}` }), ...headers },
      });
    const found = await ask();
    expect([found.status, headerFaults(path, found)], path).toEqual([200, []]);
    const head = await ask({ method: 'HEAD' });
    expect([head.status, headerFaults(path, head), await head.text()], path).toEqual([200, [], '']);
    if (isPartners) {
      const unchanged = await ask({}, '', { 'if-none-match': found.headers.get('etag') ?? '' });
      expect([unchanged.status, headerFaults(path, unchanged), await unchanged.text()], path).toEqual([304, [], '']);
    }
    const refused = [await ask({ method: 'POST' })];
    if (isPartners) {
      refused.push(await ask({}, '?no_such_parameter=1'));
      refused.push(await ask({}, '', { authorization: 'Bearer pds_test_wrong' }));
    }
    expect(refused.map(({ status }) => status)).toEqual(isPartners ? [405, 400, 401] : [405]);
    for (const response of refused) {
      expect(headerFaults(path, response)).toEqual([]);
      expect(isError(await response.json()), path).toBe(true);
    }
  }
});
