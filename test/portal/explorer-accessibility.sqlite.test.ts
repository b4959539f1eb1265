import { describe, expect } from 'vitest';
import { findViolationsOnAnyScreen, NO_VIOLATIONS } from '../support/browser/accessibility.ts';
import { testWith } from '../support/installed-programs.ts';
import { exploreForAllTests, giveKey, type Explorer } from './explorer-service.ts';

const ADDRESSES = [
  '#/overview',
  '#/search?q=invented',
  '#/solicitations?status=cancelled,closed&lead_entity=le_hostile,le_example_city',
  '#/solicitations?q=invented',
  '#/contracts',
  '#/suppliers?state=MD',
  '#/certifications',
  '#/lead-entities',
  '#/coops',
  '#/city-services',
  '#/key',
  '#/solicitations/900005',
  '#/contracts/ctr_hostile',
  '#/suppliers/sup_md_00_061',
  '#/suppliers?state=nowhere',
  '#/contracts?q=nothingatallhere',
  '#/contracts/nowhere',
  '#/nowhere',
];

const explorable = exploreForAllTests();

/** Presses Tab until an element with this name has the focus. */
async function tabTo({ page }: Explorer, name: string): Promise<void> {
  const maxPresses = 80;
  for (let presses = 0; presses < maxPresses; presses++) {
    await page.keyboard.press('Tab');
    const [reached, isMarked] = await page.evaluate<[string, boolean]>(
      `(() => { const it = document.activeElement; return [it.labels?.[0]?.innerText ?? it.innerText,
        getComputedStyle(it).outlineStyle !== 'none']; })()`,
    );
    expect(isMarked, reached).toBe(true);
    if (reached.startsWith(name)) return;
  }
  throw new Error(`${maxPresses} presses of Tab did not lead to ${name}`);
}

describe('the explorer', () => {
  testWith('chromium', 'tools')(
    'breaks no rule of axe on any screen, in no view, and is no wider than the window',
    async () => {
      const explorer = await explorable.open({ viewport: { width: 1200, height: 850 } });
      const { page } = explorer;
      expect(await findViolationsOnAnyScreen(page)).toEqual(NO_VIOLATIONS);
      await giveKey(explorer, explorable.key('all'));
      await explorer.settled();
      for (const address of ADDRESSES) {
        await explorer.open(address);
        expect(await findViolationsOnAnyScreen(page), address).toEqual(NO_VIOLATIONS);
      }
    },
    120_000,
  );

  testWith('chromium')('is gone through by keyboard alone, and tells where one came to', async () => {
    const explorer = await explorable.open();
    const { page } = explorer;
    await tabTo(explorer, 'API key');
    await page.keyboard.insertText(explorable.key('all'));
    await page.keyboard.press('Enter');
    await explorer.settled();
    await tabTo(explorer, 'As a table');
    await page.keyboard.press('Enter');
    await page.locator('.chart tbody a').first().waitFor();
    await tabTo(explorer, 'Show ');
    await page.keyboard.press('Enter');
    await page.locator('.rows li:nth-child(11) a:focus').waitFor();

    await page.keyboard.press('Control+Home');
    await page.getByRole('link', { name: 'Skip to content' }).focus();
    await page.keyboard.press('Enter');
    await tabTo(explorer, 'Solicitations');
    await page.keyboard.press('Enter');
    await page.locator('h2:focus', { hasText: 'Solicitations' }).waitFor();
    expect(await page.title()).toMatch(/^Solicitations · /);
    await tabTo(explorer, 'Search');
    await page.keyboard.insertText('library shelving earlier');
    await page.keyboard.press('Enter');
    await page.locator('.view tbody tr').nth(0).and(page.locator(':only-child')).waitFor();
    await tabTo(explorer, 'Library shelving, earlier round (invented)');
    await page.keyboard.press('Enter');
    await page.locator('h2:focus', { hasText: 'Library shelving' }).waitFor();
    await tabTo(explorer, 'Copy');
    await page.keyboard.press('Enter');
    await page.getByText(/^(Copied\.|Selected: copy it with your keyboard\.)$/).waitFor();
    await page.goBack();
    await page.locator('h2:focus', { hasText: 'Solicitations' }).waitFor();
  });

  testWith('chromium')('keeps the address of a view when the link that skips to the content is used', async () => {
    const explorer = await explorable.explore('all');
    const { page } = explorer;
    await explorer.open('#/coops');
    await page.getByRole('link', { name: 'Skip to content' }).focus();
    await page.keyboard.press('Enter');
    await page.locator('#_top:focus').waitFor();
    await explorer.open('#/contracts/ctr_hostile');
    await page.goBack();
    await page.getByRole('rowheader', { name: 'COSTARS' }).waitFor();
    expect(new URL(page.url()).hash).toBe('#/coops');
  });
});
