import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestApp, type TestApp } from './test-app.ts';

const BROWSER = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) =>
  existsSync(path),
);

/** Otherwise the browser asks its maker for this and that. */
const QUIET = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
  '--disable-quic',
];

let service: TestApp;
beforeAll(async () => {
  service = await createTestApp();
});
afterAll(() => service.close());

describe('/docs', () => {
  test('is a page that may ask no other host', async () => {
    const answer = await service.app.inject('/docs');
    expect(answer.statusCode).toBe(200);
    expect(answer.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(answer.headers['content-security-policy']).toContain("default-src 'none'");
    expect(answer.payload).not.toMatch(/https?:\/\//);
    const script = await service.app.inject('/docs/scalar.js');
    expect(script.statusCode).toBe(200);
    expect(script.payload.length).toBeGreaterThan(1_000_000);
  });

  test.skipIf(BROWSER === undefined)('renders in a browser, from its own origin alone, without an error', async () => {
    const origin = `http://127.0.0.1:${await service.listen()}`;
    const browser = await chromium.launch({ executablePath: BROWSER ?? '', args: QUIET });
    try {
      const page = await browser.newPage();
      const asked: string[] = [];
      const complaints: string[] = [];
      page.on('request', (request) => {
        if (!request.url().startsWith('data:')) asked.push(new URL(request.url()).origin);
      });
      page.on('console', (message) => {
        if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
      });
      page.on('pageerror', (error) => void complaints.push(error.message));
      await page.goto(`${origin}/docs`, { waitUntil: 'networkidle' });
      await page.getByText('Solicitations').first().waitFor();
      await page.goto(`${origin}/docs#tag/contracts/GET/v1/contracts`);
      await page.getByText('Searches cooperative purchasing contracts').first().waitFor();
      expect(complaints).toEqual([]);
      expect(new Set(asked)).toEqual(new Set([origin]));
    } finally {
      await browser.close();
    }
  });
});
