import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Runs axe-core on the page in its current state; returns each violation as the rule's id and the offending HTML. */
export async function findViolations(page: Page): Promise<string[]> {
  // Evaluated over the debugging protocol, so the page's Content-Security-Policy does not apply.
  await page.evaluate(AXE);
  const { violations } = await page.evaluate<AxeResults>('axe.run()');
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}
