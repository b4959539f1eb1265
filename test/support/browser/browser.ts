import { chromium, type Browser, type BrowserContextOptions, type Locator, type Page } from 'playwright-core';
import { findInstalled } from '../installed-programs.ts';

/** Without these, Chromium contacts Google in the background. */
const QUIET = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
  '--disable-quic',
];

/** Starts the installed Chromium, for tests under `testWith('chromium')`. */
export function launchBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: findInstalled('chromium') ?? '', args: QUIET });
}

/** Opens pages in one browser, each in a fresh context. Starts the browser with the first. The caller must close it. */
export function openPages() {
  let browser: Promise<Browser> | undefined;
  return {
    async withPage(options: BrowserContextOptions, use: (page: Page) => Promise<void>): Promise<void> {
      browser ??= launchBrowser();
      const context = await (await browser).newContext(options);
      try {
        await use(await context.newPage());
      } finally {
        await context.close();
      }
    },
    async close(): Promise<void> {
      await (await browser)?.close();
    },
  };
}

/**
 * Opens the site's search by its key, once its field is there. The page adds the field when it is idle, which a browser
 * without a screen may only be after a frame, and it draws none by itself.
 */
export async function openSearch(page: Page): Promise<Locator> {
  while ((await page.locator('site-search input').count()) === 0) {
    await page.evaluate('new Promise(requestAnimationFrame)');
  }
  await page.keyboard.press('Control+k');
  return page.locator('dialog[open]').getByPlaceholder('Search');
}

/** A record of what a page must not do: complain, or contact another origin. */
export type PageRecord = ReturnType<typeof recordPage>;

/**
 * Records the page's complaints, that is console errors and warnings, and uncaught exceptions, and every origin that it
 * sends a request to from now on.
 */
export function recordPage(page: Page) {
  const complaints: string[] = [];
  const origins = new Set<string>();
  page.on('request', (request) => {
    if (!request.url().startsWith('data:')) origins.add(new URL(request.url()).origin);
  });
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => void complaints.push(error.message));
  return { complaints, origins };
}
