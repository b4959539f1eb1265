import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { findInstalled } from './installed-programs.ts';

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

/** Starts the installed Chromium, for tests under `testWith('chromium')`. */
export function launchBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: findInstalled('chromium') ?? '', args: QUIET });
}

/** Pages of one browser, each as if nobody had been there before. */
export interface OpenPages {
  readonly withPage: (options: BrowserContextOptions, use: (page: Page) => Promise<void>) => Promise<void>;
  readonly close: () => Promise<void>;
}

/** The browser is started with the first page. Whoever opens pages closes it. */
export function openPages(): OpenPages {
  let browser: Promise<Browser> | undefined;
  return {
    async withPage(options, use) {
      browser ??= launchBrowser();
      const context = await (await browser).newContext(options);
      try {
        await use(await context.newPage());
      } finally {
        await context.close();
      }
    },
    async close() {
      await (await browser)?.close();
    },
  };
}

/** What a page did that no page of ours should. */
export interface PageRecord {
  /** Errors and warnings of its console, and what its scripts threw. */
  readonly complaints: readonly string[];
  /** Every origin that it sent a request to. */
  readonly origins: ReadonlySet<string>;
}

/** Notes down from now on what a page complains of and whom it asks. */
export function recordPage(page: Page): PageRecord {
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
