import { expect, test } from 'vitest';
import { createTestApp } from '../http/test-app.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { GUIDE_PATHS, PAGES, readText } from './site.ts';

const service = forAllTests(createTestApp);

test('each guide is also Markdown, at its address with .md, and leads to Markdown', async () => {
  for (const path of GUIDE_PATHS) {
    const address = path === '/docs' ? '/docs/index.md' : `${path}.md`;
    const { statusCode, headers, payload } = await service.app.inject(address);
    expect([statusCode, headers['content-type']], address).toEqual([200, 'text/markdown; charset=utf-8']);
    expect(payload).toMatch(/^# \S.*\n\n\S/);
    expect(PAGES.get(path)).toContain(`<link rel="alternate" type="text/markdown" href="${address}"`);
    expect(PAGES.get(path)).toMatch(new RegExp(`<a href="${address}"[^>]*>.*This page as Markdown`, 's'));
    const targets = [...payload.matchAll(/\]\((?!https:|#)([^)#]+)/g)].map(([, target = '']) => target);
    for (const target of targets) {
      expect(target, address).toMatch(/\.md$|^\/docs\/(?:reference|explorer)$|^\/openapi/);
      expect((await service.app.inject(target)).statusCode, `${address}: ${target}`).toBeLessThan(400);
    }
  }
  expect((await service.app.inject('/docs.md')).headers.location).toBe('/docs/index.md');
});

test.each([
  [undefined, 'text/html'],
  ['*/*', 'text/html'],
  ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'text/html'],
  ['application/json', 'text/html'],
  ['text/markdown;q=0.5, text/html', 'text/html'],
  ['text/markdown;q=0, text/plain', 'text/html'],
  ['text/markdown', 'text/markdown'],
  ['text/markdown;charset=utf-8, text/html;q=0.9, */*;q=0.1', 'text/markdown'],
])('with Accept: %s, a guide is %s, with its own tag', async (accept, type) => {
  const url = '/docs/guides/paging';
  const get = (headers: object) => service.app.inject({ url, headers: { ...(accept && { accept }), ...headers } });
  const { statusCode, headers, payload } = await get({});
  expect([statusCode, headers['content-type']]).toEqual([200, `${type}; charset=utf-8`]);
  expect(payload).toContain(type === 'text/html' ? '<h1' : '# Paging\n');
  const etag = String(headers.etag);
  const same = await get({ 'if-none-match': etag });
  expect(same.statusCode).toBe(304);
  // A cache must not give the other form to anyone.
  for (const { vary } of [headers, same.headers]) expect(vary).toMatch(/^Accept, Accept-Encoding/);
  const other = type === 'text/html' ? 'text/markdown' : 'text/html';
  expect((await get({ accept: other, 'if-none-match': etag })).statusCode).toBe(200);
});

test('the explorer and the reference are pages, whatever a client accepts', async () => {
  for (const url of ['/docs/explorer', '/docs/reference']) {
    const { headers } = await service.app.inject({ url, headers: { accept: 'text/markdown' } });
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
  }
});

test('llms-full.txt has every guide, whole', async () => {
  expect((await service.app.inject('/llms-full.txt')).headers.location).toBe('/docs/llms-full.txt');
  const { payload } = await service.app.inject('/docs/llms-full.txt');
  for (const path of GUIDE_PATHS) {
    const guide = await service.app.inject({ url: path, headers: { accept: 'text/markdown' } });
    expect(payload, path).toContain(guide.payload.trim());
  }
});

test('Markdown has the address of the service in its examples', async () => {
  const read = async (headers: object, app = service.app): Promise<string> =>
    (await app.inject({ url: '/docs/guides/first-request.md', headers: { ...headers } })).payload;
  expect(await read({ host: 'api.example.com:8443' })).toContain('PARTNER_DATA_URL=http://api.example.com:8443\n');
  expect(await read({ host: 'api.example.com/"$(id)"' })).toContain('PARTNER_DATA_URL=http://127.0.0.1:8080\n');
  await using behindProxy = await createTestApp({ config: { publicUrl: 'https://data.example.org' } });
  expect(await read({ host: '10.0.0.1' }, behindProxy.app)).toContain('PARTNER_DATA_URL=https://data.example.org\n');
});

test('the client for Python is handed out as it is, as text', async () => {
  const { statusCode, headers, payload } = await service.app.inject('/docs/partner_data.py');
  expect([statusCode, headers['content-type']]).toEqual([200, 'text/plain; charset=utf-8']);
  expect(payload).toBe(readText('client/python/partner_data.py'));
});

test('llms.txt lists every guide', async () => {
  expect((await service.app.inject('/llms.txt')).headers.location).toBe('/docs/llms.txt');
  const { headers, payload } = await service.app.inject('/docs/llms.txt');
  expect(headers['content-type']).toBe('text/plain; charset=utf-8');
  expect(payload).toMatch(/^# Partner data service\n\n> \S/);
  for (const path of GUIDE_PATHS.filter((path) => /\/guides\/|\/errors$/.test(path)))
    expect(payload).toMatch(new RegExp(`^- \\[[^\\]]+\\]\\(${path}\\.md\\): \\S`, 'm'));
  for (const [, target = ''] of payload.matchAll(/\]\(([^)]+)\)/g))
    expect((await service.app.inject(target)).statusCode, target).toBe(200);
});
