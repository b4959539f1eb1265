import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { DEMO_KEY } from '../../src/access/keys.ts';
import { findViolationsOnAnyScreen, NO_VIOLATIONS } from '../support/browser/accessibility.ts';
import { openSearch, recordPage } from '../support/browser/browser.ts';
import { testWith } from '../support/installed-programs.ts';
import { serveSite } from './serve-site.ts';
import { GUIDE_PATHS, PAGES } from './site.ts';

/** The maximum transfer size of a page with its resources, uncached, before the search is opened. */
const MAX_PAGE_BYTES = 200_000;

const FIRST_REQUEST = '/docs/guides/first-request';

const { service, site, testPage, withPage } = serveSite();

test.each([...PAGES.keys()])('%s allows no other origin, and no inline script', async (path) => {
  const response = await service.app.inject(path);
  expect(response.statusCode).toBe(200);
  expect(response.headers['content-type']).toBe('text/html; charset=utf-8');
  const policy = String(response.headers['content-security-policy']);
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("script-src 'self' 'wasm-unsafe-eval';");
  // Scalar, on the reference, inserts inline styles.
  if (path !== '/docs/reference') expect(policy).not.toContain('unsafe-inline');
  expect(policy).not.toMatch(/\*|https?:/);
  const conditional = { 'if-none-match': response.headers.etag };
  expect((await service.app.inject({ url: path, headers: conditional })).statusCode).toBe(304);
});

test('other spellings of an address lead to its page', async () => {
  const targets = [
    ['/', '/docs'],
    ['/docs/', '/docs'],
    ['/docs/guides', '/docs'],
    ['/docs/guides/paging/', '/docs/guides/paging'],
    ['/docs/reference/', '/docs/reference'],
  ];
  for (const [path = '', target] of targets) {
    const { statusCode, headers } = await service.app.inject(path);
    expect([statusCode, headers.location], path).toEqual([302, target]);
  }
});

test('files with a hash in their name are cached for good, others are revalidated, all compressed', async () => {
  const hashed = /href="(\/docs\/_astro\/[^"]+\.css)"/.exec(PAGES.get('/docs') ?? '')?.[1] ?? '';
  const ofFile = await service.app.inject({ url: hashed, headers: { 'accept-encoding': 'gzip, br' } });
  expect(ofFile.headers).toMatchObject({
    'cache-control': 'public, max-age=31536000, immutable',
    'content-encoding': 'br',
    'content-type': 'text/css; charset=utf-8',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  });
  const ofPage = await service.app.inject({ url: '/docs', headers: { 'accept-encoding': 'br' } });
  expect(ofPage.headers).toMatchObject({ 'cache-control': 'no-cache', 'content-encoding': 'br' });
  // A part of a compressed file is of no use to anyone.
  const part = await service.app.inject({ url: hashed, headers: { range: 'bytes=0-9' } });
  expect([part.statusCode, part.headers['accept-ranges']]).toEqual([200, undefined]);
});

test('a browser gets a missing page with navigation, a program the error as JSON', async () => {
  for (const path of ['/docs/nothing', '/nothing']) {
    const page = await service.app.inject({ url: path, headers: { accept: 'text/html,*/*' } });
    expect(page.statusCode).toBe(404);
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(page.payload).toMatch(/<h1[^>]*>Page not found</);
    expect(page.payload).toContain('href="/docs/guides/paging"');
    const error = await service.app.inject(path);
    expect(error.json()).toMatchObject({ error: { code: 'not_found' } });
    for (const { headers } of [page, error]) expect(headers.vary).toBe('Accept, Accept-Encoding');
  }
  const ofApi = await service.app.inject({
    url: '/v1/nothing',
    headers: { ...service.authorization, accept: 'text/html' },
  });
  expect(ofApi.json()).toMatchObject({ error: { code: 'not_found' } });
});

test('a service that is no demo shows no key', async () => {
  expect((await service.app.inject('/docs/service.json')).json()).toEqual({ demo_key: null });
  for (const html of PAGES.values()) expect(html).not.toContain(DEMO_KEY);
});

for (const path of GUIDE_PATHS) {
  testWith('chromium', 'tools')(`${path} opens without a complaint, is accessible, and fits any screen`, async () => {
    await withPage({ viewport: { width: 1280, height: 900 } }, async (page) => {
      const { complaints, origins } = recordPage(page);
      await page.goto(`${site.origin}${path}`);
      expect(await findViolationsOnAnyScreen(page)).toEqual(NO_VIOLATIONS);
      expect(complaints).toEqual([]);
      expect(origins).toEqual(new Set([site.origin]));
    });
  });
}

testPage(`every guide takes less than ${MAX_PAGE_BYTES} bytes on the wire the first time`, {}, async (page) => {
  const network = await page.context().newCDPSession(page);
  await network.send('Network.enable');
  let bytes = 0;
  network.on('Network.loadingFinished', ({ encodedDataLength }) => (bytes += encodedDataLength));
  for (const path of GUIDE_PATHS) {
    await network.send('Network.clearBrowserCache');
    bytes = 0;
    await page.goto(`${site.origin}${path}`);
    // The script of the search form, which a page loads once it is idle.
    await page.locator('#starlight__search input').waitFor({ state: 'attached' });
    expect(bytes, path).toBeGreaterThan(20_000);
    expect(bytes, path).toBeLessThan(MAX_PAGE_BYTES);
  }
});

/** Words that partners search for, and the section, or the page with any, that must be among the first results. */
const SEARCHES: readonly [word: string, section: string][] = [
  ['jitter', '/docs/errors#trying-again'],
  ['csv', '/docs/guides/loading#_top'],
  ['pandas', '/docs/guides/loading#pandas'],
  ['excel', '/docs/guides/loading#excels-power-query'],
  ['removed', '/docs/guides/syncing#'],
  ['deleted', '/docs/guides/syncing#what-updated_since-cannot-show'],
  ['require_intent_registration', '/docs/reference#models/SolicitationDetail'],
  ['pagination', '/docs/guides/paging#_top'],
  ['authentication', '/docs/guides/keys#_top'],
  ['python', '/docs/guides/python#_top'],
  ['psql', '/docs/guides/postgresql'],
  ['calendar', '/docs/guides/recipes'],
  ['incremental', '/docs/guides/syncing#an-incremental-sync'],
  ['quota', '/docs/guides/limits#requests-per-minute'],
  ['vendor', '/docs/guides/first-request#endpoints'],
  ['sdk', '/docs/guides/client#_top'],
  ['sort', '/docs/guides/limitations#_top'],
  ['postman', '/docs/guides/limitations#_top'],
  ['sandbox', '/docs/guides/limitations#_top'],
  ['webhook', '/docs/guides/limitations#_top'],
  ['mcp', '/docs/guides/assistants'],
  ['count solicitations', '/docs/reference#tag/solicitations/GET/v1/solicitations/count'],
];

testPage('one search finds words of the guides and of the reference, without another origin', {}, async (page) => {
  const { complaints, origins } = recordPage(page);
  await page.goto(`${site.origin}/docs`, { waitUntil: 'networkidle' });
  const search = await openSearch(page);
  for (const [word, section] of SEARCHES) {
    await search.fill(word);
    await page.locator(`.pagefind-ui__result:nth-child(-n + 2) a[href^="${section}"]`).first().waitFor();
  }
  // There are words that begin it, such as "web", and no such word.
  for (const word of ['websockets', 'paging websockets', 'zzz']) {
    await search.fill(word);
    await page.getByText(`No results for ${word}`).waitFor();
  }
  await search.fill(SEARCHES.at(-1)?.[0] ?? '');
  await page.locator(`a[href="${SEARCHES.at(-1)?.[1] ?? ''}"]`).click();
  await page.getByRole('heading', { name: 'Count solicitations' }).first().waitFor();
  expect(complaints).toEqual([]);
  expect(origins).toEqual(new Set([site.origin]));
});

testWith('chromium')('pictures of the portal have the theme of the page', async () => {
  for (const colorScheme of ['light', 'dark'] as const) {
    await withPage({ colorScheme, viewport: { width: 1280, height: 900 } }, async (page) => {
      for (const path of ['/docs/guides/explorer', FIRST_REQUEST]) {
        await page.goto(`${site.origin}${path}`);
        const images = await page.locator('main img:visible').all();
        expect(images, path).toHaveLength(1);
        expect(await images[0]?.getAttribute('src'), path).toContain(`-${colorScheme}.`);
      }
    });
  }
});

testPage(
  'the language of examples is chosen with the keyboard, and stays on other pages',
  { viewport: { width: 1280, height: 900 } },
  async (page) => {
    await page.goto(`${site.origin}${FIRST_REQUEST}`);
    await page.keyboard.press('Tab');
    await page.getByRole('link', { name: 'Skip to content' }).and(page.locator(':focus')).waitFor();
    const tab = (name: string) => page.getByRole('tab', { name, exact: true }).first();
    await tab('curl').focus();
    for (const name of ['TypeScript', 'TypeScript client', 'Python']) {
      await page.keyboard.press('ArrowRight');
      await tab(name).and(page.locator(':focus')).waitFor();
    }
    for (const path of [FIRST_REQUEST, '/docs/guides/paging', '/docs/guides/syncing']) {
      await page.goto(`${site.origin}${path}`);
      expect(await tab('Python').getAttribute('aria-selected'), path).toBe('true');
      expect(await page.getByRole('tabpanel').first().innerText(), path).toContain('import PartnerData');
    }
  },
);

const copyFirst = async (page: Page): Promise<string> => {
  await page.locator('.expressive-code').first().hover();
  await page.getByRole('button', { name: 'Copy to clipboard' }).first().click();
  return page.evaluate<string>('navigator.clipboard.readText()');
};

testPage(
  'examples are copied as shown, with the address of the service',
  { permissions: ['clipboard-read', 'clipboard-write'] },
  async (page) => {
    await page.goto(`${site.origin}/docs`, { waitUntil: 'networkidle' });
    expect(await copyFirst(page)).toBe(
      `curl -sS --fail-with-body \\\n  -H 'Authorization: Bearer <your key>' \\\n  ${site.origin}/v1/coops`,
    );
    await page.goto(`${site.origin}${FIRST_REQUEST}`, { waitUntil: 'networkidle' });
    const example = `export PARTNER_DATA_URL=${site.origin}\nexport PARTNER_DATA_KEY='<your key>'`;
    expect(await page.locator('.expressive-code pre').first().innerText()).toBe(example);
    expect(await copyFirst(page)).toBe(example);
  },
);

testPage('on paper no navigation is printed, and every language of an example', {}, async (page) => {
  await page.goto(`${site.origin}${FIRST_REQUEST}`);
  await page.emulateMedia({ media: 'print' });
  expect(await page.locator('nav.sidebar').isVisible()).toBe(false);
  expect(await page.getByText('import PartnerData').first().isVisible()).toBe(true);
});
