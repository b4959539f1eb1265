import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';

const AXE = new URL('../../../tools/node_modules/axe-core/axe.min.js', import.meta.url);

/** What axe-core returns, as far as it is used. */
interface AxeResults {
  readonly violations: readonly { readonly id: string; readonly nodes: readonly { readonly html: string }[] }[];
}

/** Runs axe-core on the page in its current state; returns each violation as the rule's id and the offending HTML. */
export async function findViolations(page: Page): Promise<string[]> {
  // Evaluated over the debugging protocol, so the page's Content-Security-Policy does not apply.
  await page.evaluate(readFileSync(AXE, 'utf8'));
  const { violations } = await page.evaluate<AxeResults>('axe.run()');
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}
