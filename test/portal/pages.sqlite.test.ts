import type { BrowserContextOptions } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { GUIDES } from '../../src/portal/guides.ts';
import { createTestApp, type TestApp } from '../http/test-app.ts';
import { findViolations } from '../support/accessibility.ts';
import { openPages, recordPage } from '../support/browser.ts';
import { testWith } from '../support/installed-programs.ts';

const PATHS = GUIDES.map(({ path }) => path);

/** The maximum transfer size of a page with its resources, uncached. */
const MAX_PAGE_BYTES = 100_000;

const READERS: Readonly<Record<string, BrowserContextOptions>> = {
  'a light screen': { colorScheme: 'light', viewport: { width: 1280, height: 900 } },
  'a dark screen': { colorScheme: 'dark', viewport: { width: 1280, height: 900 } },
  'a phone': { colorScheme: 'light', viewport: { width: 320, height: 700 }, hasTouch: true },
};

let service: TestApp;
let origin: string;
const { withPage, close } = openPages();

beforeAll(async () => {
  service = await createTestApp();
  origin = `http://127.0.0.1:${await service.listen()}`;
});
afterAll(async () => {
  await close();
  await service.close();
});

test.each(PATHS)('%s runs and loads nothing but what the service itself has', async (path) => {
  const answer = await service.app.inject(path);
  expect(answer.statusCode).toBe(200);
  expect(answer.headers['content-type']).toBe('text/html; charset=utf-8');
  const policy = String(answer.headers['content-security-policy']);
  expect(policy).toContain("default-src 'none'");
  expect(policy).not.toMatch(/unsafe|\*|data:|https?:/);
  expect(answer.payload).not.toMatch(/ style=|<style|<script(?! type="module" src="\/docs\/assets\/)/);
  expect((await service.app.inject({ url: path, headers: { 'if-none-match': answer.headers.etag } })).statusCode).toBe(
    304,
  );
});

test('a page is found with a slash behind its address, and the home by those who know the host alone', async () => {
  for (const path of ['/docs', '/docs/explorer', '/docs/reference', '/docs/guides/paging']) {
    const [page, other] = [await service.app.inject(path), await service.app.inject(`${path}/`)];
    expect(other.statusCode).toBe(200);
    expect(other.payload).toBe(page.payload);
  }
  const home = await service.app.inject('/docs');
  for (const path of ['/', '/docs/guides', '/docs/guides/']) {
    const other = await service.app.inject(path);
    expect([other.statusCode, other.payload]).toEqual([200, home.payload]);
  }
  expect(home.payload).toContain('<title>Partner data service</title>');
});

test('a picture in a guide is served as one, and asked for once', async () => {
  const { payload } = await service.app.inject('/docs/guides/first-request');
  const path = /<img src="([^"]+)" alt="[^"]+"/.exec(payload)?.[1] ?? '';
  const answer = await service.app.inject(path);
  expect(answer.headers['content-type']).toBe('image/png');
  expect(answer.rawPayload.subarray(1, 4).toString()).toBe('PNG');
  expect((await service.app.inject({ url: path, headers: { 'if-none-match': answer.headers.etag } })).statusCode).toBe(
    304,
  );
});

describe.each(Object.entries(READERS))('on %s', (_name, options) => {
  testWith('chromium')('every page opens without a complaint, is accessible, and fits', async () => {
    await withPage(options, async (page) => {
      const { complaints, origins } = recordPage(page);
      for (const path of PATHS) {
        await page.goto(`${origin}${path}`);
        expect(await findViolations(page), path).toEqual([]);
        const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
        expect(await page.evaluate(overflow), `${path} is wider than the screen`).toBe(0);
      }
      expect(complaints).toEqual([]);
      expect(origins).toEqual(new Set([origin]));
    });
  });
});

testWith('chromium')(`every page takes less than ${MAX_PAGE_BYTES} bytes on the wire the first time`, async () => {
  for (const path of PATHS) {
    await withPage({}, async (page) => {
      const network = await page.context().newCDPSession(page);
      await network.send('Network.enable');
      let bytes = 0;
      network.on('Network.loadingFinished', ({ encodedDataLength }) => (bytes += encodedDataLength));
      await page.goto(`${origin}${path}`);
      expect(bytes, path).toBeGreaterThan(1000);
      expect(bytes, path).toBeLessThan(MAX_PAGE_BYTES);
    });
  }
});

testWith('chromium')(
  'with the keyboard alone one skips to the content, opens an example, and goes to another guide',
  async () => {
    await withPage({ viewport: { width: 1280, height: 900 } }, async (page) => {
      const focused = (): Promise<string> => page.evaluate<string>('document.activeElement.textContent.trim()');
      await page.goto(`${origin}/docs/guides/first-request`);
      await page.keyboard.press('Tab');
      expect(await focused()).toBe('Skip to content');
      await page.keyboard.press('Enter');
      expect(await page.evaluate('document.activeElement.id')).toBe('main');

      const python = page.locator('summary', { hasText: 'Python' });
      for (let presses = 0; (await focused()) !== 'Python' && presses < 40; presses++) await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      expect(await python.locator('..').getAttribute('open')).not.toBeNull();
      expect(await page.locator('.examples').first().locator('details[open]').count()).toBe(1);

      await page.goto(`${origin}/docs`);
      for (let presses = 0; (await focused()) !== 'Paging' && presses < 20; presses++) await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      await page.waitForURL(`${origin}/docs/guides/paging`);
    });
  },
);

testWith('chromium')('on a phone the list of guides is folded, and opens', async () => {
  await withPage(READERS['a phone'] ?? {}, async (page) => {
    await page.goto(`${origin}/docs`);
    const link = page.locator('.sidebar').getByRole('link', { name: 'Paging' });
    expect(await link.isVisible()).toBe(false);
    await page.getByText('All guides').tap();
    await link.tap();
    await page.waitForURL(`${origin}/docs/guides/paging`);
  });
});

testWith('chromium')('an example is copied as it stands', async () => {
  await withPage({ permissions: ['clipboard-read', 'clipboard-write'] }, async (page) => {
    await page.goto(`${origin}/docs`);
    await page.getByRole('button', { name: 'Copy' }).click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    const copied = await page.evaluate('navigator.clipboard.readText()');
    expect(copied).toBe('curl -H "Authorization: Bearer $API_KEY" "$BASE_URL/v1/coops"');
  });
});
