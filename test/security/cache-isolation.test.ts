import { expect, test } from 'vitest';
import type { HttpResponse, GetOptions } from '../support/client.ts';
import { SMALL_CATALOG } from '../support/publishing.ts';
import { serviceForAllTests } from '../support/service.ts';

const service = serviceForAllTests({
  catalog: SMALL_CATALOG,
  partners: [{ name: 'all', everything: true }, { name: 'a', leadEntities: ['le_a'] }, { name: 'nothing' }],
});

const PATHS = [
  ...['contracts', 'suppliers', 'solicitations', 'lead-entities', 'coops'].map((kind) => `/v1/${kind}`),
  ...['/v1/contracts/ctr_2', '/v1/suppliers/sup_2', '/v1/solicitations/sol_2', '/v1/solicitations/2'],
  ...['/v1/solicitations/count', '/v1/contracts/count', '/v1/suppliers/count'],
  ...['/v1/contracts?q=asphalt', '/v1/lead-entities?q=a', '/v1/contracts?limit=1'],
];

const get = (name: string, path: string, options: GetOptions = {}): Promise<HttpResponse> =>
  service.get(path, { key: service.partner(name).key, ...options });

/** The parts of a response that do not vary. */
function comparable({ status, headers, body }: HttpResponse): object {
  const { etag, vary, link, 'x-sync-watermark': watermark, 'content-type': type } = headers;
  return { status, etag, vary, link, watermark, type, body: body.replace(/"request_id":"[^"]*"/, '') };
}

/** Headers by which a client could poison the cache. */
const UNKEYED: Record<string, string>[] = [
  { host: 'elsewhere.example', 'x-forwarded-host': 'elsewhere.example', 'x-forwarded-proto': 'http' },
  { 'x-original-url': '/v1/coops', 'x-rewrite-url': '/v1/coops', 'x-http-method-override': 'POST' },
  { 'accept-encoding': 'gzip;q=1, x', accept: 'text/html', 'accept-language': 'xx' },
  { cookie: 'partner=all', 'x-partner': 'all', 'x-api-key': 'all', forwarded: 'for=127.0.0.1;host=elsewhere.example' },
  { range: 'bytes=0-1', 'if-range': '"x"', 'cache-control': 'max-age=9999', pragma: 'no-cache' },
];

test('each partner gets its own response, whatever other partners requested before, and with which headers', async () => {
  const names = ['all', 'a', 'nothing'];
  const first = new Map<string, object>();
  for (const name of names) for (const path of PATHS) first.set(name + path, comparable(await get(name, path)));
  for (const path of PATHS) {
    const asAll = first.get(`all${path}`);
    expect(asAll).toMatchObject({ status: 200, vary: 'Authorization, Accept, Accept-Encoding' });
    expect(first.get(`nothing${path}`)).not.toEqual(asAll);
    // Without a valid key, nothing cached is served.
    expect((await service.get(path)).status).toBe(401);
    expect((await service.get(path, { key: `${service.partner('all').key}x` })).status).toBe(401);
  }
  for (const headers of UNKEYED) {
    // Its cache is empty, so that the responses to these headers fill it.
    const other = await service.startOther();
    for (const name of names) {
      const { key } = service.partner(name);
      for (const path of PATHS) {
        await other.get(path, { key, headers });
        expect(comparable(await other.get(path, { key })), `${name} ${path}`).toEqual(first.get(name + path));
      }
    }
  }
});

test("another partner's ETag never yields a 304", async () => {
  for (const path of PATHS) {
    const headers = { 'if-none-match': String((await get('all', path)).headers.etag) };
    expect(comparable(await get('nothing', path, { headers }))).toEqual(comparable(await get('nothing', path)));
    expect((await service.get(path, { headers })).status).toBe(401);
  }
});
