import { expect, test } from 'vitest';
import { createClient } from '../support/client.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { createListeningApp, exchangeRaw } from './test-app.ts';

const service = forAllTests(createListeningApp);
const client = forAllTests(() => createClient(`http://127.0.0.1:${service.port}`));

test('every response has X-Content-Type-Options: nosniff, also errors of the HTTP parser', async () => {
  const { key } = service;
  const paths = [
    '/v1/coops',
    '/v1/coops',
    '/v1/coops?x=1',
    '/v1/coops/x',
    '/health',
    '/openapi.json',
    '/openapi-3.0.json',
    '/docs',
    '/nothing',
  ];
  for (const path of paths) {
    for (const options of [{ key }, {}, { key, method: 'HEAD' }, { key, method: 'POST' }]) {
      expect((await client.get(path, options)).headers['x-content-type-options'], path).toBe('nosniff');
    }
  }
  expect(await exchangeRaw(service.port, 'no HTTP\r\n\r\n')).toMatch(/^x-content-type-options: nosniff\r$/im);
});

test('responses that need no key run no scripts of other origins, cannot be framed and send no referrer', async () => {
  for (const path of ['/health', '/openapi.json', '/docs', '/docs/icon.svg', '/nothing', '/%ZZ']) {
    const { headers } = await client.get(path);
    expect(headers['referrer-policy'], path).toBe('no-referrer');
    const policy = String(headers['content-security-policy']);
    expect(policy, path).toContain("default-src 'none'");
    expect(policy, path).toContain("frame-ancestors 'none'");
    // /docs is a page, and runs scripts of its own origin.
    if (path !== '/docs') expect(policy, path).toBe("default-src 'none'; frame-ancestors 'none'");
    else expect(policy).not.toMatch(/unsafe-inline|\*|https?:/);
  }
});
