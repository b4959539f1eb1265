import { expect } from 'vitest';
import { serveSite } from './serve-site.ts';
import { GUIDE_PATHS } from './site.ts';

const PHONE = { viewport: { width: 390, height: 800 }, hasTouch: true };

const { site, testPage } = serveSite();

testPage('on a phone the list of guides is folded, and opens', PHONE, async (page) => {
  await page.goto(`${site.origin}/docs`);
  const link = page.locator('nav.sidebar').getByRole('link', { name: 'Paging' });
  expect(await link.isVisible()).toBe(false);
  await page.getByRole('button', { name: 'Menu' }).tap();
  await link.tap();
  await page.waitForURL(`${site.origin}/docs/guides/paging`);
});

testPage('on a phone the copy button of every example is in a bar above its code', PHONE, async (page) => {
  for (const path of ['/docs/guides/client', '/docs/guides/first-request']) {
    await page.goto(`${site.origin}${path}`);
    const blocks = await page.locator('.expressive-code:visible').all();
    expect(blocks.length).toBeGreaterThan(3);
    for (const block of blocks) {
      const button = await block.getByRole('button', { name: 'Copy to clipboard' }).boundingBox();
      const code = await block.locator('pre').boundingBox();
      expect((button?.y ?? Infinity) + (button?.height ?? 0)).toBeLessThanOrEqual(code?.y ?? 0);
    }
  }
});

testPage('on a phone each row of a wide table of errors is a card that shows all its cells', PHONE, async (page) => {
  let cards = 0;
  for (const path of GUIDE_PATHS.filter((path) => path.startsWith('/docs/errors'))) {
    await page.goto(`${site.origin}${path}`);
    for (const table of await page.getByRole('table').all()) {
      const width = await table.evaluate((box) => (box as unknown as { scrollWidth: number }).scrollWidth);
      expect(width, path).toBeLessThanOrEqual(390);
      const titles = await table.getByRole('columnheader').allTextContents();
      // Two columns fit beside each other.
      if (titles.length < 3) continue;
      cards++;
      const cells = await table.getByRole('row').nth(1).getByRole('cell').all();
      expect(await Promise.all(cells.map((cell) => cell.getAttribute('data-label')))).toEqual(titles);
      const boxes = await Promise.all(cells.map((cell) => cell.boundingBox()));
      for (const box of boxes) expect(box?.width).toBeGreaterThan(250);
      const tops = boxes.map((box) => box?.y ?? 0);
      expect(tops).toEqual(tops.toSorted((one, other) => one - other));
    }
  }
  expect(cards).toBeGreaterThan(1);
});
