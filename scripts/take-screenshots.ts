import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { DEMO_KEY } from '../src/access/keys.ts';
import { launchBrowser } from '../test/support/browser/browser.ts';

// Takes screenshots of the portal of a running demo, for review. Those of `explorer-overview`, `explorer-list` and
// `reference-request` on a desktop are docs/pictures/{explorer,explorer-list,reference-request}-{light,dark}.png.
// A guide's page has a limit of bytes: give those of the explorer a palette of 256 colours (pngquant, or any other).
//   node scripts/take-screenshots.ts http://127.0.0.1:8080 DIRECTORY [home,guide]

/** The pages, and what to do on each before its screenshot. */
const SHOTS: Readonly<Record<string, { path: string; prepare?: (page: Page) => Promise<void> }>> = {
  home: { path: '/docs' },
  guide: { path: '/docs/guides/first-request' },
  errors: { path: '/docs/errors' },
  search: { path: '/docs', prepare: search },
  missing: { path: '/docs/nothing' },
  reference: { path: '/docs/reference' },
  'reference-request': { path: '/docs/reference#tag/reference-lists/GET/v1/coops', prepare: sendRequest },
  'explorer-overview': { path: '/docs/explorer', prepare: giveKey },
  'explorer-search': { path: '/docs/explorer#/search?q=library', prepare: giveKey },
  'explorer-key': { path: '/docs/explorer#/key', prepare: giveKey },
  'explorer-list': { path: '/docs/explorer#/solicitations?q=invented', prepare: giveKey },
  'explorer-record': { path: '/docs/explorer#/solicitations/900005', prepare: giveKey },
};

const DEVICES = { desktop: { width: 1280, height: 1000 }, phone: { width: 320, height: 700 } };

const [origin = 'http://127.0.0.1:8080', directory = 'screenshots', only = Object.keys(SHOTS).join()] =
  process.argv.slice(2);
await mkdir(directory, { recursive: true });
const browser = await launchBrowser();
for (const colorScheme of ['light', 'dark'] as const) {
  for (const [device, viewport] of Object.entries(DEVICES)) {
    for (const [name, { path, prepare }] of Object.entries(SHOTS)) {
      if (!only.split(',').includes(name)) continue;
      const page = await browser.newPage({ colorScheme, viewport });
      page.on('console', (message) => {
        if (['error', 'warning'].includes(message.type())) process.stderr.write(`${name}: ${message.text()}\n`);
      });
      await page.goto(`${origin}${path}`, { waitUntil: 'networkidle' });
      await prepare?.(page);
      if (name.startsWith('explorer')) await page.evaluate('scrollTo(0, 0)');
      await page.screenshot({ path: join(directory, `${name}-${device}-${colorScheme}.png`), animations: 'disabled' });
      await page.close();
    }
  }
}
await browser.close();

async function search(page: Page): Promise<void> {
  await page.keyboard.press('Control+k');
  await page.getByRole('textbox', { name: 'Search' }).fill('watermark');
  await page.locator('.pagefind-ui__result').first().waitFor();
}

async function giveKey(page: Page): Promise<void> {
  await page.getByLabel('API key').fill(DEMO_KEY);
  await page.keyboard.press('Enter');
  await page.locator('#explorer:not(:has([aria-busy=true])) .view h2').waitFor();
}

async function sendRequest(page: Page): Promise<void> {
  await page.getByLabel('Bearer Token').first().fill(DEMO_KEY);
  await page
    .locator('section')
    .filter({ has: page.getByRole('heading', { name: 'List cooperatives' }) })
    .getByRole('button', { name: 'Test Request' })
    .last()
    .click();
  await page.getByRole('button', { name: 'Send' }).first().click();
  await page.getByText('co_costars').last().waitFor();
  // The progress bar disappears a moment later.
  await page.waitForTimeout(1000);
}
