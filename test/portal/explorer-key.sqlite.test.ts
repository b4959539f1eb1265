import { describe, expect } from 'vitest';
import { DEMO_KEY } from '../../src/access/keys.ts';
import { suspendPartner } from '../../src/access/partner-admin.ts';
import { testWith } from '../support/installed-programs.ts';
import { exploreForAllTests, giveKey, type Explorer } from './explorer-service.ts';

/** Well-formed with a valid checksum, but unknown to a service that is not a demo. */
const UNKNOWN_KEY = DEMO_KEY;

const explorable = exploreForAllTests();

const problemOf = ({ page }: Explorer): Promise<string> => page.locator('.problem').first().innerText();

/** Everywhere a page could leave data: its content, its URL, and all storage that outlives it. */
const REMAINS = `(async () => JSON.stringify([
  document.documentElement.outerHTML,
  [...document.querySelectorAll('input')].map(({ value }) => value),
  location.href, history.state, document.title, window.name, document.cookie,
  { ...localStorage }, { ...sessionStorage },
  await indexedDB.databases(), await caches.keys(),
  performance.getEntries().map(({ name }) => name),
]))()`;

const remainsOf = ({ page }: Explorer): Promise<string> => page.evaluate<string>(REMAINS);

describe('a key in the explorer', () => {
  testWith('chromium')(
    'stands in no storage, address or element while it is used, nor when the page was left',
    async () => {
      const key = explorable.key('all');
      const secret = key.slice('pds_test_'.length);
      const explorer = await explorable.open();
      const { page } = explorer;
      const asked: string[] = [];
      page.on('request', (request) => asked.push(`${request.url()} ${request.postData() ?? ''}`));
      await giveKey(explorer, key);
      await explorer.settled();
      for (const address of [
        '#/overview',
        '#/solicitations?status=open',
        '#/suppliers/sup_hostile',
        '#/contracts?limit=0',
      ]) {
        await explorer.open(address);
        expect(await remainsOf(explorer), address).not.toContain(secret);
      }
      await page.goto(`${explorable.service.url}/docs`);
      expect(await remainsOf(explorer)).not.toContain(secret);
      await page.goBack();
      await page.getByLabel('API key').waitFor();
      expect(await page.locator('.view').count()).toBe(0);
      expect(await remainsOf(explorer)).not.toContain(secret);
      expect(asked.length).toBeGreaterThan(10);
      expect(asked.filter((text) => text.includes(secret))).toEqual([]);
      const { cookies, origins } = await page.context().storageState({ indexedDB: true });
      expect(cookies).toEqual([]);
      // The site's colour scheme is all that it stores.
      for (const { localStorage, indexedDB } of origins as {
        localStorage: { name: string }[];
        indexedDB?: object[];
      }[]) {
        expect(localStorage.map(({ name }) => name)).toEqual(['starlight-theme']);
        expect(indexedDB ?? []).toEqual([]);
      }
    },
  );

  testWith('chromium')(
    'is forgotten at a press, and after a reload the same view is asked for with the next',
    async () => {
      const explorer = await explorable.explore('all');
      const { page } = explorer;
      await explorer.open('#/coops');
      await page.getByRole('button', { name: 'Forget the key' }).click();
      expect(await page.locator('.view').count()).toBe(0);
      await page.locator('#api-key:focus').waitFor();
      await page.reload();
      await giveKey(explorer, explorable.key('all'));
      await page.getByRole('heading', { name: 'Cooperatives' }).waitFor();
    },
  );

  testWith('chromium')('survives a reload of the tab only if the user says so, until it is forgotten', async () => {
    const explorer = await explorable.open();
    const { page } = explorer;
    await page.getByLabel('Keep it in this tab').check();
    await giveKey(explorer, explorable.key('all'));
    await explorer.settled();
    await explorer.open('#/coops');
    await page.reload();
    await page.getByRole('heading', { name: 'Cooperatives' }).waitFor();
    const { cookies, origins } = await page.context().storageState({ indexedDB: true });
    expect(JSON.stringify([cookies, origins])).not.toContain(explorable.key('all'));
    await page.getByRole('button', { name: 'Forget the key' }).click();
    expect(await remainsOf(explorer)).not.toContain(explorable.key('all'));
    await page.reload();
    await page.getByLabel('API key').waitFor();
    expect(await page.getByLabel('Keep it in this tab').isChecked()).toBe(false);
  });

  testWith('chromium')('is gone, with all that it showed, from a page that the browser keeps for Back', async () => {
    const { page, ...explorer } = await explorable.explore('all');
    await explorer.open('#/coops');
    // The event for a page that enters the back/forward cache; whether it does is the browser's choice.
    await page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))");
    expect(await page.getByText('COSTARS').count()).toBe(0);
    expect(await page.getByLabel('API key').inputValue()).toBe('');
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    await page.evaluate("location.hash = '#/contracts'");
    await page.getByLabel('API key').press('Tab');
    expect(asked.filter((text) => text.includes('/v1/'))).toEqual([]);
  });

  testWith('chromium')('is told to be wrong where the service does not know it, and can be given anew', async () => {
    const explorer = await explorable.open();
    await giveKey(explorer, UNKNOWN_KEY);
    await expect.poll(() => problemOf(explorer)).toContain('The service does not accept this key (401)');
    await giveKey(explorer, 'no key');
    await explorer.page.getByText('This is not a key').waitFor();
    expect(await explorer.page.locator('.problem').count()).toBe(0);
    expect(await remainsOf(explorer)).not.toContain(UNKNOWN_KEY);
    await giveKey(explorer, explorable.key('all'));
    await explorer.settled();
    expect(await explorer.page.locator('.problem').count()).toBe(0);
  });

  testWith('chromium')('is not sent where no header can carry it, and not repeated', async () => {
    const explorer = await explorable.open();
    for (const wrong of ['pds_test_a b', 'pds_test_é', '“pds_test_x”', '"pds_test_x"']) {
      await giveKey(explorer, wrong);
      await explorer.page.getByText('This is not a key').waitFor();
      expect(await explorer.page.locator('.wrong').textContent()).not.toContain(wrong);
    }
    expect(explorer.record.complaints).toEqual([]);
  });

  testWith('chromium')('is accepted as it is in a header', async () => {
    const explorer = await explorable.open();
    await giveKey(explorer, ` Authorization: Bearer ${explorable.key('all')}`);
    await explorer.settled();
    expect(await explorer.page.locator('.problem').count()).toBe(0);
  });

  testWith('chromium')('begins with what it can read, and leads to nothing else', async () => {
    const explorer = await explorable.explore('contracts-only');
    const { page } = explorer;
    expect(await page.locator('.view h2').textContent()).toBe('Overview');
    expect(await page.locator('.views a').allTextContents()).toEqual(['Overview', 'Contracts', 'Your key']);
    expect(await page.locator('.views a[aria-current=page]').textContent()).toBe('Overview');
    await explorer.open('#/contracts');
    expect(await page.locator('.view tbody tr').count()).toBe(25);
    await page.getByLabel('Supplier', { exact: false }).fill('sup_pa_steinberger_floors_inc_bb87');
    await page.getByRole('button', { name: 'Show' }).click();
    await page.getByRole('link', { name: 'FLOOR COVERING SERVICES' }).click();
    await page.getByRole('rowheader', { name: 'STEINBERGER FLOORS, INC.' }).waitFor();
    expect(await page.getByRole('link', { name: 'STEINBERGER FLOORS, INC.' }).count()).toBe(0);
    await explorer.open('#/solicitations');
    expect(await problemOf(explorer)).toContain('has no access to this (403)');
    expect(await page.getByText('What else your key can see').count()).toBe(1);
    await explorer.open('#/contracts?q=fire');
    expect(await page.locator('.problem').count()).toBe(0);
  });

  testWith('chromium')('of a partner without grants says why it sees nothing', async () => {
    const explorer = await explorable.explore('without-grants');
    const why = explorer.page.getByText('Nothing has been granted to your partner yet');
    expect(await why.isVisible()).toBe(true);
    await explorer.open('#/contracts');
    expect(await why.isVisible()).toBe(true);
    const other = await explorable.explore('all');
    expect(await other.page.locator('.note-box').isVisible()).toBe(false);
  });

  testWith('chromium')(
    'that has used up its requests is told how long to wait, and how many are left before',
    async () => {
      const explorer = await explorable.open();
      const { page } = explorer;
      await page.clock.install();
      await page.goto(`${explorable.service.url}/docs/explorer#/coops`);
      await giveKey(explorer, explorable.key('few-requests'));
      await explorer.settled();
      expect(await page.locator('.quota').textContent()).toMatch(/^1 of 3 requests left until \d\d:\d\d:\d\d UTC\.$/);
      for (const address of ['#/city-services', '#/certifications', '#/lead-entities']) await explorer.open(address);
      expect(await problemOf(explorer)).toMatch(/Too many requests \(429\).*Try again in \d+ s/);
      const retry = page.getByRole('button', { name: /^Try again in \d+ s$/ });
      expect(await retry.isDisabled()).toBe(true);
      await page.clock.fastForward(61_000);
      expect(await page.locator('.quota').textContent()).toBe('3 requests left.');
      await page.getByRole('button', { name: 'Try again', exact: true, disabled: false }).waitFor();
    },
  );

  testWith('chromium')('is not blamed where no answer came, or another than the service answered', async () => {
    const explorer = await explorable.explore('all');
    const { page } = explorer;
    await page.context().setOffline(true);
    await explorer.open('#/coops');
    expect(await problemOf(explorer)).toContain('No response.');
    await page.context().setOffline(false);
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('rowheader', { name: 'COSTARS' }).waitFor();
    await page.route('**/v1/**', (route) => route.fulfill({ status: 502, body: '<h1>Bad gateway</h1>' }));
    await explorer.open('#/lead-entities');
    expect(await problemOf(explorer)).toContain('Something other than the service responded (502)');
  });

  testWith('chromium')('of a partner that is suspended meanwhile shows nothing more', async () => {
    const explorer = await explorable.explore('contracts-only');
    await explorer.open('#/contracts');
    await suspendPartner(explorable.service.database, Date.now, 'contracts-only');
    await explorable.service.noticeChanges();
    await explorer.open('#/contracts?q=fire');
    expect(await problemOf(explorer)).toContain('suspended');
    expect(await explorer.page.locator('.view tbody tr').count()).toBe(0);
    const later = await explorable.explore('contracts-only');
    expect(await problemOf(later)).toContain('This partner is suspended. Contact the operator');
    expect(await later.page.locator('.views a').count()).toBe(0);
  });
});
