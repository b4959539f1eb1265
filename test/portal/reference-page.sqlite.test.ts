import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import openapi from '../../docs/openapi.json' with { type: 'json' };
import { findViolations } from '../support/browser/accessibility.ts';
import { openPages, openSearch, recordPage } from '../support/browser/browser.ts';
import { testWith } from '../support/installed-programs.ts';
import { createTestApp } from '../http/test-app.ts';
import { forAllTests } from '../support/lifetimes.ts';

let origin: string;
const { withPage, close } = openPages();
const service = forAllTests(createTestApp);
beforeAll(async () => {
  origin = `http://127.0.0.1:${await service.listen()}`;
});
afterAll(() => close());

describe('/docs/reference', () => {
  test('is a page that may ask no other host', async () => {
    const answer = await service.app.inject('/docs/reference');
    expect(answer.statusCode).toBe(200);
    expect(answer.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(answer.headers['content-security-policy']).toContain("default-src 'none'");
    const script = await service.app.inject('/docs/scalar.js');
    expect(script.statusCode).toBe(200);
    expect(script.payload.length).toBeGreaterThan(1_000_000);
  });

  testWith('chromium')('renders in a browser, from its own origin alone, without an error', async () => {
    await withPage({}, async (page) => {
      const { complaints, origins } = recordPage(page);
      await page.goto(`${origin}/docs/reference`, { waitUntil: 'networkidle' });
      await page.getByText('Solicitations').first().waitFor();
      await page.goto(`${origin}/docs/reference#tag/contracts/GET/v1/contracts`);
      await page.getByText('Searches cooperative purchasing contracts').first().waitFor();
      expect(complaints).toEqual([]);
      expect(origins).toEqual(new Set([origin]));
    });
  });

  testWith('chromium')("labels the interface's version, which is not that of the service", async () => {
    await withPage({}, async (page) => {
      await page.goto(`${origin}/docs/reference`, { waitUntil: 'networkidle' });
      await page.getByText(`Interface ${openapi.info.version}`, { exact: true }).waitFor();
      expect(await page.getByText(`v${openapi.info.version}`, { exact: true }).count()).toBe(0);
    });
  });

  testWith('chromium')('shows an example of the type that a list has', async () => {
    await withPage({}, async (page) => {
      await page.goto(`${origin}/docs/reference#tag/reference-lists/GET/v1/coops`, { waitUntil: 'networkidle' });
      await page.getByText('co_costars_963a').first().waitFor();
      await page.goto(`${origin}/docs/reference#tag/contracts/GET/v1/contracts`);
      await page.getByText('cs_adhesive_tape_1ae0').first().waitFor();
    });
  });

  testWith('chromium')('tries a request with a key, and keeps the key nowhere', async () => {
    await withPage({}, async (page) => {
      // Its parameters have a default and an enum.
      await page.goto(`${origin}/docs/reference#tag/reference-lists/GET/v1/certifications`, {
        waitUntil: 'networkidle',
      });
      await page.getByLabel('Bearer Token').first().fill(service.key);
      await page.getByRole('button', { name: 'Test Request' }).first().click();
      const sent = page.waitForRequest(/v1/);
      await page.getByRole('button', { name: 'Send' }).first().click();
      await page.getByText('200 OK').first().waitFor();
      // Nothing is preselected: no parameter, no condition.
      expect((await sent).url()).toMatch(/\/v1\/[a-z-]+$/);
      expect(Object.keys((await sent).headers())).not.toContain('if-none-match');
      const kept = '[location.href, document.cookie, ...Object.entries({ ...localStorage, ...sessionStorage })].join()';
      expect(await page.evaluate(kept)).not.toContain(service.key);
      await page.reload({ waitUntil: 'networkidle' });
      expect(await page.getByLabel('Bearer Token').first().inputValue()).toBe('');
    });
  });

  testWith('chromium')('has one search, the one of the site', async () => {
    await withPage({}, async (page) => {
      await page.goto(`${origin}/docs/reference`, { waitUntil: 'networkidle' });
      await page.getByText('Solicitations').first().waitFor();
      expect(await page.getByRole('button', { name: 'Search' }).count()).toBe(1);
      const search = await openSearch(page);
      await search.fill('closing_after');
      await page.locator('a[href="/docs/reference#tag/solicitations/GET/v1/solicitations"]').click();
      await expect
        .poll(async () => (await page.getByRole('heading', { name: 'List solicitations' }).first().boundingBox())?.y)
        .toBeLessThan(400);
    });
  });

  testWith('chromium')('closes "Test Request" by its button, at every width', async () => {
    for (const width of [390, 800, 1280, 1720]) {
      await withPage({ viewport: { width, height: 900 } }, async (page) => {
        await page.goto(`${origin}/docs/reference#tag/contracts/GET/v1/contracts`);
        await page.getByRole('button', { name: 'Test Request' }).first().click();
        const dialog = page.getByRole('dialog');
        await dialog.waitFor();
        // The click fails if anything covers the button.
        await page.getByRole('button', { name: 'Close Client' }).click();
        await dialog.waitFor({ state: 'hidden' });
      });
    }
  });

  testWith('chromium')('shows what the page will be until Scalar has rendered it', async () => {
    await withPage({}, async (page) => {
      const release = Promise.withResolvers<undefined>();
      await page.route('**/docs/scalar.js', async (route) => {
        await release.promise;
        await route.continue();
      });
      await page.goto(`${origin}/docs/reference`, { waitUntil: 'commit' });
      const skeleton = page.locator('.reference-skeleton');
      await skeleton.waitFor();
      release.resolve(undefined);
      await page.getByRole('heading', { name: openapi.info.title, level: 1 }).waitFor();
      await skeleton.waitFor({ state: 'hidden' });
    });
  });

  testWith('chromium')('teaches the feed, and has fields in the order of responses', async () => {
    await withPage({}, async (page) => {
      await page.goto(`${origin}/docs/reference`);
      await page.getByText('To keep a copy, request /v1/changes').first().waitFor();
      await page.goto(`${origin}/docs/reference#models/Solicitation`);
      const names = page.locator('[id$="models/Solicitation-content"] .property-name');
      await names.first().waitFor();
      expect(await names.allTextContents()).toEqual(Object.keys(openapi.components.schemas.Solicitation.properties));
    });
  });

  testWith('chromium')('warns of no parameter that is empty', async () => {
    await withPage({}, async (page) => {
      await page.goto(`${origin}/docs/reference#tag/solicitations/GET/v1/solicitations`, { waitUntil: 'networkidle' });
      await page.getByRole('button', { name: 'Test Request' }).first().click();
      const dialog = page.getByRole('dialog');
      await dialog.getByText('updated_since').first().waitFor();
      expect(await dialog.getByRole('row').count()).toBeGreaterThan(8);
      expect(await dialog.locator('[aria-label="Input is invalid"]').count()).toBe(0);
    });
  });

  testWith('chromium')('is readable without scripts', async () => {
    await withPage({ javaScriptEnabled: false }, async (page) => {
      await page.goto(`${origin}/docs/reference`);
      expect(await page.getByRole('heading', { name: 'Count solicitations' }).isVisible()).toBe(true);
      expect(await page.getByText('closing_before').first().isVisible()).toBe(true);
    });
  });

  // Scalar takes the color scheme when it is loaded.
  testWith('chromium', 'tools').each([
    { colorScheme: 'light', width: 1280 },
    { colorScheme: 'dark', width: 390 },
  ] as const)('breaks no rule of axe in $colorScheme, $width pixels wide', async ({ colorScheme, width }) => {
    await withPage({ colorScheme, viewport: { width, height: 900 } }, async (page) => {
      await page.goto(`${origin}/docs/reference#tag/contracts/GET/v1/contracts`, { waitUntil: 'networkidle' });
      await page.getByText('Searches cooperative purchasing contracts').first().waitFor();
      // Scalar labels the region of examples alike in all operations that it has rendered.
      const violations = (await findViolations(page)).filter((each) => !/^landmark-unique: .*"Example R/.test(each));
      expect(violations).toEqual([]);
    });
  });
});
