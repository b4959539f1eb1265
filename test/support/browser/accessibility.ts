import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';

const AXE = new URL('../../../tools/node_modules/axe-core/axe.min.js', import.meta.url);

/** The part of the result of axe-core that is used. */
interface AxeResults {
  readonly violations: readonly { readonly id: string; readonly nodes: readonly { readonly html: string }[] }[];
}

/** The rules of axe-core that depend on the color scheme, and on the size of the window. */
const ON_DARK = ['color-contrast', 'link-in-text-block'];
const ON_PHONE = ['color-contrast', 'scrollable-region-focusable', 'target-size'];

const SCROLLS_WITHOUT_TAB =
  "[...document.querySelectorAll('pre')].some((pre) => pre.scrollWidth > pre.clientWidth && pre.tabIndex !== 0)";

/** Runs axe-core on the page in its current state; returns each violation as the rule's id and the offending HTML. */
export async function findViolations(page: Page, rules?: readonly string[]): Promise<string[]> {
  // Evaluated over the debugging protocol, so the page's Content-Security-Policy does not apply.
  if (!(await page.evaluate<boolean>("'axe' in window"))) await page.evaluate(readFileSync(AXE, 'utf8'));
  const { violations } = await page.evaluate<AxeResults>(
    `axe.run(${JSON.stringify(rules === undefined ? {} : { runOnly: rules })})`,
  );
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}

/**
 * The violations of a page in light, in dark and on a phone, and whether it is wider than the phone. The page must follow
 * the color scheme.
 */
export async function findViolationsOnAnyScreen(page: Page): Promise<Record<string, readonly string[]>> {
  const size = page.viewportSize() ?? { width: 1280, height: 900 };
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
  const light = await findViolations(page);
  await page.emulateMedia({ colorScheme: 'dark' });
  const dark = await findViolations(page, ON_DARK);
  await page.setViewportSize({ width: 320, height: 700 });
  // Code that scrolls gets its place in the order of Tab a moment later.
  while (await page.evaluate<boolean>(SCROLLS_WITHOUT_TAB)) await page.evaluate('new Promise(requestAnimationFrame)');
  const phone = await findViolations(page, ON_PHONE);
  const pixels = await page.evaluate<number>(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  );
  await page.setViewportSize(size);
  return { light, dark, phone: pixels > 0 ? [...phone, `${pixels} pixels wider than the screen`] : phone };
}

/** The result of `findViolationsOnAnyScreen` for a page without violations. */
export const NO_VIOLATIONS = { light: [], dark: [], phone: [] };
