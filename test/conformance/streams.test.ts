import { parse } from 'csv-parse/sync';
import { describe, expect, test } from 'vitest';
import type { HttpResponse } from '../support/client.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { publishLines, solicitation } from '../support/publishing.ts';
import { startModelledService } from './modelled-service.ts';

const LISTS = [
  '/v1/contracts',
  '/v1/contracts?q=services',
  '/v1/contracts?q=services?&coop=co_costars_963a',
  '/v1/contracts?updated_since=2020-01-01T00:00:00Z&coop=co_costars_963a',
  '/v1/suppliers',
  '/v1/suppliers?state=PA,md',
  '/v1/solicitations',
  '/v1/solicitations?status=open,closed&closing_after=2026-01-01T00:00:00Z',
  '/v1/solicitations?nigp=005,91438',
  '/v1/solicitations?is_open=true',
  '/v1/solicitations?is_open=false',
  '/v1/solicitations?updated_since=2999-01-01T00:00:00Z',
  '/v1/lead-entities',
  '/v1/city-services',
  '/v1/coops',
  '/v1/lead-entities?q=county',
  '/v1/city-services?q=serv',
  '/v1/certifications?q=women',
];

const modelled = forAllTests(() => startModelledService(7), 120_000);

const keyOf = (name: string): string => modelled.service.partner(name).key;

const get = (path: string, headers: Record<string, string> = {}, name = 'everything', method = 'GET') =>
  modelled.service.get(path, { key: keyOf(name), headers, method });

const withQuery = (path: string, query: string): string => `${path}${path.includes('?') ? '&' : '?'}${query}`;

/** The texts of the records on pages, as they were sent. */
const textOf = (pages: readonly HttpResponse[]): string =>
  pages
    .map(({ body }) => /^\{"data":\[(.*)\],"meta":/s.exec(body)?.[1] ?? '')
    .filter((data) => data !== '')
    .join(',');

const recordsIn = (stream: HttpResponse): string[] => stream.body.split('\n').slice(0, -1);

/** Follows the links of a stream to its end. */
async function readPieces(path: string, name: string): Promise<HttpResponse[]> {
  const pieces: HttpResponse[] = [];
  for (let next: string | undefined = path; next !== undefined;) {
    const piece = await get(next, {}, name);
    expect(piece.status).toBe(200);
    pieces.push(piece);
    next = /^<([^>]*)>; rel="next"$/.exec(String(piece.headers['link'] ?? ''))?.[1];
  }
  return pieces;
}

describe.each(['everything', 'mixed', 'one-coop'])('for the partner "%s"', (name) => {
  test.each(LISTS)('a stream has the same records as the pages, byte for byte: %s', async (path) => {
    const pages = await modelled.service.listAllPages(path, keyOf(name), [100]);
    const stream = await get(withQuery(path, 'format=ndjson'), {}, name);
    expect(stream.status).toBe(200);
    expect(stream.headers['content-type']).toBe('application/x-ndjson');
    expect(stream.headers['transfer-encoding']).toBe('chunked');
    expect(stream.headers['content-length']).toBeUndefined();
    expect(stream.headers['x-sync-watermark']).toBe(pages[0]?.headers['x-sync-watermark']);
    expect(stream.headers['link']).toBeUndefined();
    expect(recordsIn(stream).join(',')).toBe(textOf(pages));
  });

  test.each(LISTS)('pieces of a stream lead to each other, and are together the whole: %s', async (path) => {
    const whole = recordsIn(await get(withQuery(path, 'format=ndjson'), {}, name));
    const limit = Math.ceil(whole.length / 3) || 1;
    const pieces = await readPieces(withQuery(path, `format=ndjson&limit=${limit}`), name);
    expect(pieces.flatMap(recordsIn)).toEqual(whole);
    expect(pieces.slice(0, -1).map((piece) => recordsIn(piece).length)).toEqual(pieces.slice(0, -1).map(() => limit));
  });
});

test.each(LISTS)('CSV has a line for each record, and its cells are the fields: %s', async (path) => {
  const records = recordsIn(await get(withQuery(path, 'format=ndjson'))).map(
    (line) => JSON.parse(line) as Record<string, unknown>,
  );
  const { body, headers } = await get(withQuery(path, 'format=csv'));
  expect(headers).toMatchObject({
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': `attachment; filename="${/^\/v1\/([a-z-]+)/.exec(path)?.[1]}.csv"`,
  });
  const rows: Record<string, string>[] = parse(body, { columns: true, record_delimiter: '\r\n' });
  const cellOf = (value: unknown): string => {
    if (value === null) return '';
    return typeof value === 'string' ? value : JSON.stringify(value);
  };
  const expected = records.map((record) =>
    Object.fromEntries(
      Object.entries(record).flatMap(([field, value]) => {
        if (field !== 'lead_entity' && field !== 'coop') return [[field, cellOf(value)]];
        const { id = '', name = '' } = (value ?? {}) as { id?: string; name?: string };
        return [
          [`${field}.id`, id],
          [`${field}.name`, name],
        ];
      }),
    ),
  );
  expect(rows).toEqual(expected);
});

test('the columns of CSV are the documented fields in their order', async () => {
  const headers: (string | undefined)[] = [];
  for (const kind of ['contracts', 'suppliers', 'solicitations', 'certifications', 'coops']) {
    const { body } = await get(`/v1/${kind}?format=csv&limit=1`);
    headers.push(body.split('\r\n')[0]);
  }
  expect(headers).toEqual([
    'id,name,summary,description,lead_entity.id,lead_entity.name,coop.id,coop.name,suppliers,city_services,updated_at',
    'id,name,states_served,location,logo,email,website,certifications,updated_at',
    'id,ref,reference_number,title,status,issuing_organization,lead_entity.id,lead_entity.name,open_at,close_at,' +
      'questions_due_at,intent_to_bid_due_at,is_open,updated_at',
    'name,type,abbreviation',
    'id,name',
  ]);
});

test.each([
  ['application/x-ndjson', 'application/x-ndjson'],
  ['application/jsonl', 'application/x-ndjson'],
  ['application/ndjson, application/json;q=0.5', 'application/x-ndjson'],
  ['text/csv', 'text/csv; charset=utf-8'],
  ['text/csv;q=0.5, application/json', 'application/json; charset=utf-8'],
  ['text/csv;charset=utf-8;q=0.5', 'text/csv; charset=utf-8'],
  ['text/csv; header=present; charset="utf-8", application/json;q=0.9', 'text/csv; charset=utf-8'],
  ['text/csv;header=present;q=0.5, application/json;q=0.9', 'application/json; charset=utf-8'],
  ['text/csv;charset=utf-8;q=0, application/x-ndjson;q=0.1', 'application/x-ndjson'],
  ['text/html, text/csv;q=0.9, */*;q=0.1', 'text/csv; charset=utf-8'],
  ['text/html,application/xhtml+xml,*/*;q=0.8', 'application/json; charset=utf-8'],
  ['image/png', 'application/json; charset=utf-8'],
  ['*/*', 'application/json; charset=utf-8'],
  ['', 'application/json; charset=utf-8'],
])('"Accept: %s" gets %s', async (accept, type) => {
  const { headers, status } = await get('/v1/coops?limit=1', { accept });
  expect([status, headers['content-type']]).toEqual([200, type]);
  expect(headers.vary).toBe('Authorization, Accept, Accept-Encoding');
  const fixed = await get('/v1/coops?limit=1&format=ndjson', { accept });
  expect(fixed.headers['content-type']).toBe('application/x-ndjson');
});

test.each([
  ['format=xml', 'Parameter "format" must be one of json, ndjson, csv.'],
  ['format=', 'Parameter "format" is blank. It must be one of json, ndjson, csv. Omit it if you do not need it.'],
  ['limit=101', 'Parameter "limit" must be a whole number from 1 to 100, in plain digits.'],
  ['limit=0&format=csv', 'Parameter "limit" must be a whole number from 1 to 100000, in plain digits.'],
  ['limit=100001&format=ndjson', 'Parameter "limit" must be a whole number from 1 to 100000, in plain digits.'],
  ['format=ndjson&cursor=abc', /^Parameter "cursor" was not issued by this list for these filters\./],
])('%s is refused with JSON that says what is accepted', async (query, message) => {
  const { status, headers, body } = await get(`/v1/coops?${query}`);
  expect([status, headers['content-type']]).toEqual([400, 'application/json; charset=utf-8']);
  const { error } = JSON.parse(body) as { error: { message: string } };
  expect(error.message).toEqual(typeof message === 'string' ? message : expect.stringMatching(message));
});

test('a cached page never answers a stream, nor a stream a page', async () => {
  const path = '/v1/contracts?limit=5';
  const [page, again] = [await get(path), await get(path)];
  expect(again.body).toBe(page.body);
  const stream = await get(path, { accept: 'application/x-ndjson' });
  expect(recordsIn(stream).join(',')).toBe(textOf([page]));
  const csv = await get(path, { accept: 'text/csv' });
  expect(csv.body).toMatch(/^id,name,/);
  expect((await get(path)).body).toBe(page.body);
});

test('HEAD sends the headers of the stream, without a length and a link', async () => {
  const path = '/v1/contracts?limit=2&format=csv';
  const [{ headers }, whole] = [await get(path, {}, 'everything', 'HEAD'), await get(path)];
  expect(headers).toMatchObject({ 'content-type': whole.headers['content-type'], etag: whole.headers.etag });
  expect(headers['content-length']).toBeUndefined();
  expect(headers['link']).toBeUndefined();
  expect(whole.headers['link']).toBeDefined();
});

test('an unchanged stream is 304, whatever changed that it does not show is 200', async () => {
  const path = '/v1/solicitations?format=ndjson';
  const { headers } = await get(path);
  const etag = headers.etag ?? '';
  expect(etag).toMatch(/^W\/"/);
  const same = await get(path, { 'if-none-match': etag });
  expect([same.status, same.body, same.headers['x-sync-watermark']]).toEqual([304, '', headers['x-sync-watermark']]);
  expect((await get('/v1/solicitations?format=csv', { 'if-none-match': etag })).status).toBe(200);
  expect((await get(path, { 'if-none-match': etag }, 'mixed')).status).toBe(200);
  await publishLines(modelled.service.database, {
    solicitations: [{ ...solicitation('sol_new', 9_999_999), lead_entity_id: 'le_city_of_pittsburgh_d85d' }],
  });
  await modelled.service.noticeChanges();
  const changed = await get(path, { 'if-none-match': etag });
  expect([changed.status, recordsIn(changed).filter((line) => line.includes('"sol_new"')).length]).toEqual([200, 1]);
});
