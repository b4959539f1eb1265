import { describe, expect } from 'vitest';
import openapi from '../../docs/openapi.json' with { type: 'json' };
import { findViolations } from '../support/browser/accessibility.ts';
import { openSearch, recordPage } from '../support/browser/browser.ts';
import { testWith } from '../support/installed-programs.ts';
import { serveSite } from './serve-site.ts';

const { service, site, testPage, withPage } = serveSite();

describe('/docs/reference', () => {
  testPage('renders from its own origin alone, without errors, with the version of the interface', {}, async (page) => {
    const { complaints, origins } = recordPage(page);
    await page.goto(`${site.origin}/docs/reference`, { waitUntil: 'networkidle' });
    await page.getByText('Solicitations').first().waitFor();
    await page.getByText(`Interface ${openapi.info.version}`, { exact: true }).waitFor();
    // The label that the version of the service would have.
    expect(await page.getByText(`v${openapi.info.version}`, { exact: true }).count()).toBe(0);
    await page.goto(`${site.origin}/docs/reference#tag/contracts/GET/v1/contracts`);
    await page.getByText('Searches cooperative purchasing contracts').first().waitFor();
    expect(complaints).toEqual([]);
    expect(origins).toEqual(new Set([site.origin]));
  });

  testPage('shows an example of the type that a list has', {}, async (page) => {
    await page.goto(`${site.origin}/docs/reference#tag/reference-lists/GET/v1/coops`, { waitUntil: 'networkidle' });
    await page.getByText('co_costars_963a').first().waitFor();
    await page.goto(`${site.origin}/docs/reference#tag/contracts/GET/v1/contracts`);
    await page.getByText('cs_adhesive_tape_1ae0').first().waitFor();
  });

  testPage('tries a request with a key, and keeps the key nowhere', {}, async (page) => {
    // Its parameters have a default and an enum.
    await page.goto(`${site.origin}/docs/reference#tag/reference-lists/GET/v1/certifications`, {
      waitUntil: 'networkidle',
    });
    await page.getByLabel('Bearer Token').first().fill(service.key);
    await page.getByRole('button', { name: 'Test Request' }).first().click();
    const sent = page.waitForRequest(/v1/);
    await page.getByRole('button', { name: 'Send' }).first().click();
    await page.getByText('200 OK').first().waitFor();
    // The page preselects no parameter and no condition.
    expect((await sent).url()).toMatch(/\/v1\/[a-z-]+$/);
    expect(Object.keys((await sent).headers())).not.toContain('if-none-match');
    const kept = '[location.href, document.cookie, ...Object.entries({ ...localStorage, ...sessionStorage })].join()';
    expect(await page.evaluate(kept)).not.toContain(service.key);
    await page.reload({ waitUntil: 'networkidle' });
    expect(await page.getByLabel('Bearer Token').first().inputValue()).toBe('');
  });

  testPage('has one search, the one of the site', {}, async (page) => {
    await page.goto(`${site.origin}/docs/reference`, { waitUntil: 'networkidle' });
    await page.getByText('Solicitations').first().waitFor();
    expect(await page.getByRole('button', { name: 'Search' }).count()).toBe(1);
    const search = await openSearch(page);
    await search.fill('closing_after');
    await page.locator('a[href="/docs/reference#tag/solicitations/GET/v1/solicitations"]').click();
    await expect
      .poll(async () => (await page.getByRole('heading', { name: 'List solicitations' }).first().boundingBox())?.y)
      .toBeLessThan(400);
  });

  testWith('chromium')('closes "Test Request" by its button, at every width', async () => {
    for (const width of [390, 800, 1280, 1720]) {
      await withPage({ viewport: { width, height: 900 } }, async (page) => {
        await page.goto(`${site.origin}/docs/reference#tag/contracts/GET/v1/contracts`);
        await page.getByRole('button', { name: 'Test Request' }).first().click();
        const dialog = page.getByRole('dialog');
        await dialog.waitFor();
        // The click fails if anything covers the button.
        await page.getByRole('button', { name: 'Close Client' }).click();
        await dialog.waitFor({ state: 'hidden' });
      });
    }
  });

  testPage('shows what the page will be until Scalar has rendered it', {}, async (page) => {
    const release = Promise.withResolvers<undefined>();
    await page.route('**/docs/scalar.js', async (route) => {
      await release.promise;
      await route.continue();
    });
    await page.goto(`${site.origin}/docs/reference`, { waitUntil: 'commit' });
    const skeleton = page.locator('.reference-skeleton');
    await skeleton.waitFor();
    release.resolve(undefined);
    await page.getByRole('heading', { name: openapi.info.title, level: 1 }).waitFor();
    await skeleton.waitFor({ state: 'hidden' });
  });

  testPage('teaches the feed, and has fields in the order of responses', {}, async (page) => {
    await page.goto(`${site.origin}/docs/reference`);
    await page.getByText('To keep a copy, request /v1/changes').first().waitFor();
    await page.goto(`${site.origin}/docs/reference#models/Solicitation`);
    const names = page.locator('[id$="models/Solicitation-content"] .property-name');
    await names.first().waitFor();
    expect(await names.allTextContents()).toEqual(Object.keys(openapi.components.schemas.Solicitation.properties));
  });

  testPage('warns of no parameter that is empty', {}, async (page) => {
    await page.goto(`${site.origin}/docs/reference#tag/solicitations/GET/v1/solicitations`, {
      waitUntil: 'networkidle',
    });
    await page.getByRole('button', { name: 'Test Request' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('updated_since').first().waitFor();
    expect(await dialog.getByRole('row').count()).toBeGreaterThan(8);
    expect(await dialog.locator('[aria-label="Input is invalid"]').count()).toBe(0);
  });

  testPage('is readable without scripts', { javaScriptEnabled: false }, async (page) => {
    await page.goto(`${site.origin}/docs/reference`);
    expect(await page.getByRole('heading', { name: 'Count solicitations' }).isVisible()).toBe(true);
    expect(await page.getByText('closing_before').first().isVisible()).toBe(true);
  });

  // Scalar takes the color scheme when it is loaded.
  testWith('chromium', 'tools').each([
    { colorScheme: 'light', width: 1280 },
    { colorScheme: 'dark', width: 390 },
  ] as const)('breaks no rule of axe in $colorScheme, $width pixels wide', async ({ colorScheme, width }) => {
    await withPage({ colorScheme, viewport: { width, height: 900 } }, async (page) => {
      await page.goto(`${site.origin}/docs/reference#tag/contracts/GET/v1/contracts`, { waitUntil: 'networkidle' });
      await page.getByText('Searches cooperative purchasing contracts').first().waitFor();
      // Scalar labels the region of examples alike in all operations that it has rendered.
      const violations = (await findViolations(page)).filter((each) => !/^landmark-unique: .*"Example R/.test(each));
      expect(violations).toEqual([]);
    });
  });
});
