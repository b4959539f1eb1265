import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { revokeKey } from '../../src/access/key-admin.ts';
import { testWith } from '../support/installed-programs.ts';
import { Explorable, type Explorer } from './explorer-service.ts';

const DAY_MS = 86_400_000;

const explorable = new Explorable();
beforeAll(() => explorable.start(), 120_000);
afterAll(() => explorable.close());

/** Holds back the responses for these paths until the returned function is called. */
async function holdBack({ page }: Explorer, paths: string): Promise<() => Promise<void>> {
  const held: (() => Promise<void>)[] = [];
  let isReleased = false;
  await page.route(paths, async (route) => {
    if (isReleased) await route.continue();
    else held.push(() => route.continue());
  });
  return async () => {
    isReleased = true;
    await Promise.all(held.map((release) => release()));
  };
}

async function ask(path: string): Promise<Record<string, string>> {
  const { body } = await explorable.service.get(path, { key: explorable.key('all') });
  return JSON.parse(body) as Record<string, string>;
}

describe('a view of the explorer', () => {
  testWith('chromium')('counts each lead entity once, however often its button is pressed', async () => {
    const { page } = await explorable.explore('all');
    await page.getByRole('button', { name: 'Count by lead entity' }).dblclick();
    await page.getByText('the largest 10 of 50 counted').waitFor();
    const total = Number(/(\d+) are left to count/.exec(await page.locator('.view').innerText())?.[1]);
    const ids = await explorable.service.get('/v1/lead-entities?limit=100', { key: explorable.key('all') });
    expect(total).toBe((JSON.parse(ids.body) as { data: unknown[] }).data.length - 50);
  });

  testWith('chromium')('goes by the clock of the service, whatever that of the machine shows', async () => {
    const explorer = await explorable.open();
    const { page } = explorer;
    await page.clock.setFixedTime(Date.now() + 9 * DAY_MS);
    await page.getByLabel('API key').fill(explorable.key('all'));
    await page.getByRole('button', { name: 'Explore' }).click();
    await explorer.settled();
    const query = `status=open&closing_after=${new Date().toISOString()}`;
    const { body } = await explorable.service.get(`/v1/solicitations/count?${query}`, { key: explorable.key('all') });
    const { total } = JSON.parse(body) as { total: number };
    await page
      .getByRole('link', { name: `${total} have the status open and a deadline to come`, exact: true })
      .waitFor();
    await explorer.open('#/timeline');
    const first = page.locator('.bars tbody th').first();
    const day = new Date().toLocaleDateString('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });
    expect(await first.textContent()).toMatch(new RegExp(`^${day.slice(0, 6).trim()}`));
  });

  testWith('chromium')('leaves it to the service to say what is wrong with what was typed', async () => {
    const explorer = await explorable.explore('all');
    const { page } = explorer;
    await explorer.open('#/suppliers');
    await page.locator('#filter-state').fill('Maryland');
    await page.getByRole('button', { name: 'Show' }).click();
    await page.getByText('The service did not accept this request (400)').waitFor();
    expect(await page.locator('#filter-state').inputValue()).toBe('Maryland');
    expect(await page.locator('.problem').innerText()).toContain('state');
  });

  testWith('chromium')('says that it waits, and what is typed meanwhile is not lost to it', async () => {
    const explorer = await explorable.explore('all');
    const { page } = explorer;
    await explorer.open('#/contracts');
    const release = await holdBack(explorer, '**/v1/contracts?*');
    await page.locator('#filter-q').fill('fire');
    await page.locator('#filter-q').press('Enter');
    await page.locator('.view[aria-busy=true]').waitFor();
    const told = await page.evaluate<string>(`getComputedStyle(document.querySelector('.view'), '::before').content`);
    expect(told).toContain('Loading');
    // No element receives the typed letters: the form is not rendered until its response arrives.
    await page.keyboard.type('lost');
    expect(await page.locator('#filter-q').inputValue()).toBe('fire');
    await page.getByRole('button', { name: 'Forget the key' }).focus();
    await release();
    await explorer.settled();
    expect(await page.locator('#filter-q').inputValue()).toBe('fire');
    expect(await page.locator('button:focus').textContent()).toBe('Forget the key');
  });

  testWith('chromium')('tells no request that only offers names for a field', async () => {
    const explorer = await explorable.explore('all');
    const { page } = explorer;
    await explorer.open('#/contracts');
    await page.locator('#filter-city_service').focus();
    await page.locator('#offered-city_service option').first().waitFor({ state: 'attached' });
    expect(await page.locator('.requests summary').textContent()).toBe('The request behind this view');
  });

  testWith('chromium')('shows the responses behind a view as JSON', async () => {
    const explorer = await explorable.explore('all');
    const { page } = explorer;
    const shown = async (): Promise<unknown> => JSON.parse((await page.locator('.requests code').textContent()) ?? '');
    await explorer.open('#/contracts/ctr_hostile');
    await page.getByRole('tab', { name: 'curl' }).focus();
    await page.keyboard.press('ArrowRight');
    await page.getByRole('tab', { name: 'JSON', selected: true }).and(page.locator(':focus')).waitFor();
    expect(await shown()).toEqual(await ask('/v1/contracts/ctr_hostile'));
    await explorer.open('#/overview');
    await page.locator('.requests summary').click();
    await page.getByRole('tab', { name: 'JSON' }).click();
    const open = '/v1/solicitations/count?status=open';
    expect(await shown()).toMatchObject({ [open]: await ask(open) });
  });

  testWith('chromium')('names the lead entity that an address filters by', async () => {
    const explorer = await explorable.explore('all');
    await explorer.open('#/contracts?lead_entity=le_city_of_pittsburgh_d85d');
    const field = explorer.page.locator('#filter-lead_entity');
    await expect.poll(() => field.inputValue()).toBe('City of Pittsburgh');
  });

  testWith('chromium')('makes a calendar entry of a deadline', async () => {
    const explorer = await explorable.explore('all');
    await explorer.open('#/solicitations/900005');
    const { title, close_at: closeAt } = await ask('/v1/solicitations/900005');
    const downloading = explorer.page.waitForEvent('download');
    await explorer.page.getByRole('button', { name: 'Add to calendar' }).click();
    const download = await downloading;
    expect(download.suggestedFilename()).toBe('900005.ics');
    const file = readFileSync(await download.path(), 'utf8');
    expect(file.split('\r\n').every((line) => Buffer.byteLength(line) <= 75)).toBe(true);
    const lines = file.replaceAll('\r\n ', '').split('\r\n');
    expect(lines).toContain(`DTSTART:${(closeAt ?? '').replaceAll(/[-:]|\.\d+/g, '')}`);
    expect(lines).toContain(`SUMMARY:Deadline: ${(title ?? '').replaceAll(/[\\;,]/g, '\\$&')}`);
    await explorer.open('#/solicitations/sol_hostile');
    expect(await explorer.page.getByRole('button', { name: 'Add to calendar' }).count()).toBe(0);
  });

  testWith('chromium')('is no record, list or view for an address that names none', async () => {
    const explorer = await explorable.explore('all');
    for (const address of [
      '#/Solicitations',
      '#/solicitations/',
      '#/solicitations/%E0%A4%A',
      '#/solicitations/count',
      '#/constructor/any%20text',
      '#/overview/1',
      '#/coops/co_costars_963a',
    ]) {
      await explorer.open(address);
      expect(await explorer.page.locator('.view h2').textContent(), address).toBe('Nothing is here');
    }
    expect(explorer.record.complaints).toEqual([]);
  });

  testWith('chromium')('is gone when its key is revoked, also where only a part of it asks', async () => {
    const explorer = await explorable.explore('revoked');
    const { page } = explorer;
    const prefix = explorable.key('revoked').split('_')[2] ?? '';
    await revokeKey(explorable.service.database, Date.now, prefix);
    await explorable.service.noticeChanges();
    await page.getByRole('button', { name: 'Count by lead entity' }).click();
    await page.getByText('The service does not accept this key (401)').waitFor();
    expect(await page.locator('.view').count()).toBe(0);
    await page.locator('#api-key:focus').waitFor();
  });
});
