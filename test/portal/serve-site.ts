import type { BrowserContextOptions, Page } from 'playwright-core';
import { beforeAll } from 'vitest';
import { createTestApp, type TestApp } from '../http/test-app.ts';
import { openPages } from '../support/browser/browser.ts';
import { testWith } from '../support/installed-programs.ts';
import { forAllTests } from '../support/lifetimes.ts';

/** Serves the site for the tests of a file. `testPage` defines one that opens a page of a browser. */
export function serveSite(prepare: (service: TestApp) => Promise<unknown> = async () => undefined) {
  const service = forAllTests(createTestApp);
  const pages = forAllTests(openPages);
  const site = { origin: '' };
  beforeAll(async () => {
    await prepare(service);
    site.origin = `http://127.0.0.1:${await service.listen()}`;
  });
  const testPage = (name: string, options: BrowserContextOptions, use: (page: Page) => Promise<void>): void =>
    testWith('chromium')(name, () => pages.withPage(options, use));
  return {
    service,
    site,
    testPage,
    withPage: (...given: Parameters<typeof pages.withPage>) => pages.withPage(...given),
  };
}
