import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { launchBrowser, recordPage } from '../support/browser.ts';
import { testWith } from '../support/installed-programs.ts';
import { createTestApp, type TestApp } from '../http/test-app.ts';

let service: TestApp;
beforeAll(async () => {
  service = await createTestApp();
});
afterAll(() => service.close());

describe('/docs/reference', () => {
  test('is a page that may ask no other host', async () => {
    const answer = await service.app.inject('/docs/reference');
    expect(answer.statusCode).toBe(200);
    expect(answer.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(answer.headers['content-security-policy']).toContain("default-src 'none'");
    expect(answer.payload).not.toMatch(/https?:\/\//);
    const script = await service.app.inject('/docs/reference/scalar.js');
    expect(script.statusCode).toBe(200);
    expect(script.payload.length).toBeGreaterThan(1_000_000);
  });

  testWith('chromium')('renders in a browser, from its own origin alone, without an error', async () => {
    const origin = `http://127.0.0.1:${await service.listen()}`;
    const browser = await launchBrowser();
    try {
      const page = await browser.newPage();
      const { complaints, origins } = recordPage(page);
      await page.goto(`${origin}/docs/reference`, { waitUntil: 'networkidle' });
      await page.getByText('Solicitations').first().waitFor();
      await page.goto(`${origin}/docs/reference#tag/contracts/GET/v1/contracts`);
      await page.getByText('Searches cooperative purchasing contracts').first().waitFor();
      expect(complaints).toEqual([]);
      expect(origins).toEqual(new Set([origin]));
    } finally {
      await browser.close();
    }
  });
});
