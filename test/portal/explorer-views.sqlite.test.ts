import { readFileSync } from 'node:fs';
import { describe, expect } from 'vitest';
import { revokeKey } from '../../src/access/key-admin.ts';
import { KINDS } from '../../src/kinds.ts';
import { testWith } from '../support/installed-programs.ts';
import { exploreForAllTests, giveKey } from './explorer-service.ts';

const DAY_MS = 86_400_000;

const explorable = exploreForAllTests();
const ask = (path: string) => explorable.ask<Record<string, string>>(path);

describe('a view of the explorer', () => {
  testWith('chromium')('goes by the clock of the service, whatever that of the machine shows', async () => {
    const explorer = await explorable.open();
    const { page } = explorer;
    await page.clock.setFixedTime(Date.now() + 9 * DAY_MS);
    await giveKey(explorer, explorable.key('all'));
    await explorer.settled();
    const [from, to] = [0, 90].map((days) => new Date(Date.now() + days * DAY_MS).toISOString());
    const query = `status=open&closing_after=${from}&closing_before=${to}`;
    const { total = '' } = await ask(`/v1/solicitations/count?${query}`);
    await page.getByText(`${total} open solicitations close in the next 13 weeks`).waitFor();
    const first = page.locator('.chart tbody th').first();
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
    const release = Promise.withResolvers<undefined>();
    await page.route('**/v1/contracts?*', async (route) => {
      await release.promise;
      await route.continue();
    });
    await page.locator('#filter-q').fill('fire');
    await page.locator('#filter-q').press('Enter');
    await page.locator('.view[aria-busy=true]').waitFor();
    const told = await page.evaluate<string>(`getComputedStyle(document.querySelector('.view'), '::before').content`);
    expect(told).toContain('Loading');
    // No element receives the typed letters: the form is not rendered until its response arrives.
    await page.keyboard.type('lost');
    expect(await page.locator('#filter-q').inputValue()).toBe('fire');
    await page.getByRole('button', { name: 'Forget the key' }).focus();
    release.resolve(undefined);
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
    expect(await page.locator('.requests summary').textContent()).toBe('The 2 requests behind this view');
  });

  testWith('chromium')('shows the responses behind a view as JSON', async () => {
    const explorer = await explorable.explore('all');
    const { page } = explorer;
    const responseShown = async (): Promise<unknown> =>
      JSON.parse((await page.locator('.requests code').textContent()) ?? '');
    await explorer.open('#/contracts/ctr_hostile');
    await page.getByRole('tab', { name: 'curl' }).focus();
    await page.keyboard.press('ArrowRight');
    await page.getByRole('tab', { name: 'JSON', selected: true }).and(page.locator(':focus')).waitFor();
    expect(await responseShown()).toEqual(await ask('/v1/contracts/ctr_hostile'));
    await explorer.open('#/overview');
    await page.locator('.requests summary').click();
    await page.getByRole('tab', { name: 'JSON' }).click();
    const open = '/v1/solicitations/count?status=open';
    expect(await responseShown()).toMatchObject({ [open]: await ask(open) });
  });

  testWith('chromium')('names what an address filters by, and each can be removed', async () => {
    const explorer = await explorable.explore('all');
    const { page } = explorer;
    await explorer.open('#/contracts?supplier=sup_pa_steinberger_floors_inc_bb87&lead_entity=le_example_city');
    await page.getByRole('button', { name: 'Remove STEINBERGER FLOORS, INC.' }).waitFor();
    await page.locator('#filter-lead_entity').fill('of pittsburgh');
    await page.getByRole('button', { name: 'Show' }).click();
    const filters = (): string | null => new URLSearchParams(new URL(page.url()).hash.split('?')[1]).get('lead_entity');
    await expect.poll(filters).toBe('le_example_city,le_city_of_pittsburgh_d85d');
    await explorer.settled();
    await page.getByRole('button', { name: 'Remove Example City (invented)' }).click();
    await page.getByRole('button', { name: 'Show' }).click();
    await expect.poll(filters).toBe('le_city_of_pittsburgh_d85d');
  });

  testWith('chromium')(
    'looks up what is typed as a name, and never sends it as an id that matches nothing',
    async () => {
      const explorer = await explorable.explore('all');
      const { page } = explorer;
      const asked: string[] = [];
      page.on('request', (request) => asked.push(new URL(request.url()).search));
      const show = async (field: string, text: string): Promise<void> => {
        await explorer.open('#/contracts');
        await page.locator(`#filter-${field}`).fill(text);
        await page.getByRole('button', { name: 'Show' }).click();
      };
      const filters = (): string => new URL(page.url()).hash;

      await show('lead_entity', 'of pittsburgh');
      await expect.poll(filters).toBe('#/contracts?lead_entity=le_city_of_pittsburgh_d85d');
      await show('supplier', 'steinberger floors');
      await expect.poll(filters).toBe('#/contracts?supplier=sup_pa_steinberger_floors_inc_bb87');

      await show('lead_entity', 'No such place');
      await page
        .getByText('Your key sees no lead entity with the name or ID “No such place”. Choose another.')
        .waitFor();
      expect(await page.locator('#filter-lead_entity[aria-invalid=true]').count()).toBe(1);
      expect(filters()).toBe('#/contracts');

      await show('lead_entity', 'example');
      await page.getByText('“example” is not the name of one lead entity. Choose one:').waitFor();
      expect(filters()).toBe('#/contracts');
      await page.getByRole('button', { name: 'Example City (invented)' }).click();
      await expect.poll(filters).toBe('#/contracts?lead_entity=le_example_city');
      expect(asked.filter((query) => /[?&](lead_entity|supplier)=(?!(le|sup)_)/.test(query))).toEqual([]);
    },
  );

  testWith('chromium')('is a list with the number of all records, if one request counts them', async () => {
    const explorer = await explorable.explore('all');
    const counted = explorer.page.locator('.count');
    const { total = '' } = await ask('/v1/solicitations/count?status=closed');
    await explorer.open('#/solicitations?status=closed&limit=10');
    expect(await counted.textContent()).toBe(`10 of ${total} records, page 1; more follow.`);
    await explorer.page.getByRole('link', { name: 'Next page' }).click();
    await expect.poll(() => counted.textContent()).toBe(`10 of ${total} records, page 2; more follow.`);
    const contracts = await ask('/v1/contracts/count?q=fire');
    await explorer.open('#/contracts?q=fire&limit=10');
    expect(await counted.textContent()).toBe(`10 of ${contracts['total']} records, page 1; more follow.`);
    await explorer.open('#/certifications?limit=10');
    expect(await counted.textContent()).toBe('10 records, page 1; more follow.');
    await explorer.open('#/contracts?supplier=sup_pa_steinberger_floors_inc_bb87');
    expect(await counted.textContent()).toMatch(/^\d records? in total\.$/);
  });

  testWith('chromium')('shows a deadline, and how far it is, at the top of a record', async () => {
    const explorer = await explorable.explore('all');
    await explorer.open('#/solicitations/900005');
    const summary = explorer.page.locator('.summary');
    expect(await summary.innerText()).toMatch(/Deadline \d+ \w+ \d{4}, \d\d:\d\d UTC, in \d+ days/);
    const facts = await explorer.page.locator('.facts').boundingBox();
    expect((await summary.boundingBox())?.y).toBeLessThan(facts?.y ?? 0);
    await explorer.open('#/solicitations/sol_hostile');
    expect(await summary.innerText()).toContain('No deadline');
  });

  testWith('chromium')('has no status that breaks in its pill, at any width', async () => {
    const explorer = await explorable.explore('all');
    for (const width of [390, 620, 850, 1280]) {
      await explorer.page.setViewportSize({ width, height: 900 });
      for (const status of ['awarded', 'cancelled']) {
        await explorer.open(`#/solicitations?status=${status}&limit=10`);
        const heights = await explorer.page.evaluate<number[]>(
          "[...document.querySelectorAll('.status')].map((it) => it.getBoundingClientRect().height)",
        );
        expect(heights).toHaveLength(10);
        expect(Math.max(...heights), `${status}, ${width} pixels`).toBeLessThan(32);
      }
    }
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
      '#/contracts/count',
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
    await explorer.open('#/contracts');
    const prefix = explorable.key('revoked').split('_')[2] ?? '';
    await revokeKey(explorable.service.database, Date.now, prefix);
    await explorable.service.noticeChanges();
    await page.locator('#filter-lead_entity').focus();
    await page.getByText('The service does not accept this key (401)').waitFor();
    expect(await page.locator('.view').count()).toBe(0);
    await page.locator('#api-key:focus').waitFor();
  });

  testWith('chromium')('is an overview of whatever kinds the key reads, in at most eight requests', async () => {
    const panels: [partner: string, tiles: string[], titles: string[]][] = [
      ['contracts-only', ['Contracts'], ['Changed last']],
      ['suppliers-only', ['Suppliers'], ['Changed last']],
      [
        'solicitations-only',
        ['Solicitations'],
        ['Deadlines by week', 'Next deadlines', 'Solicitations by status', 'Changed last'],
      ],
      ['reference-lists', ['Certifications', 'Lead entities', 'Cooperatives', 'City services'], []],
      ['no-kinds', [], []],
      ['without-grants', ['Solicitations', 'Contracts', 'Suppliers'], ['Next deadlines', 'Changed last']],
    ];
    for (const [partner, tiles, titles] of panels) {
      const explorer = await explorable.open({ viewport: { width: 320, height: 700 } });
      const { page, record } = explorer;
      const asked: string[] = [];
      page.on('request', (request) => asked.push(request.url()));
      await giveKey(explorer, explorable.key(partner));
      await explorer.settled();
      expect(await page.locator('.view h2').textContent(), partner).toBe('Overview');
      const shown = await page.locator('.tiles a').allInnerTexts();
      expect(
        shown.map((text) => text.replaceAll(/[\d,\s]+/g, ' ').trim()),
        partner,
      ).toEqual(tiles);
      expect(await page.locator('.panel h3').allTextContents(), partner).toEqual(titles);
      expect(asked.filter((url) => url.includes('/v1/')).length, partner).toBeLessThanOrEqual(8);
      const pixels = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
      expect(await page.evaluate(pixels), partner).toBe(0);
      expect(record.complaints, partner).toEqual([]);
      await page.context().close();
    }
  });

  testWith('chromium')('is a list whose last column is not cut off at 1,280 pixels', async () => {
    const explorer = await explorable.explore('all', { viewport: { width: 1280, height: 900 } });
    for (const view of KINDS) {
      await explorer.open(`#/${view}`);
      const cutOff =
        "(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('.table-scroll'))";
      expect(await explorer.page.evaluate(cutOff), view).toBe(0);
    }
  });

  testWith('chromium')('is a list of cards on a phone, of solicitations with title, deadline and status', async () => {
    const explorer = await explorable.explore('all', { viewport: { width: 390, height: 800 }, hasTouch: true });
    await explorer.open('#/solicitations/900005');
    const { title = '', status = '' } = await ask('/v1/solicitations/900005');
    await explorer.open(`#/solicitations?q=${encodeURIComponent(title)}`);
    const card = explorer.page.getByRole('row').filter({ hasText: title });
    expect(await card.getByRole('rowheader').innerText()).toBe(title);
    const cells = await Promise.all((await card.locator('td:visible').all()).map((cell) => cell.innerText()));
    expect(cells).toEqual([status, expect.stringMatching(/^\d+ \w+ \d{4}, \d\d:\d\d UTC$/)]);
    const box = await card.boundingBox();
    expect((box?.x ?? 0) + (box?.width ?? Infinity)).toBeLessThanOrEqual(390);
  });

  testWith('chromium')('says that no deadline is near, instead of empty bars', async () => {
    const explorer = await explorable.explore('all');
    const { page } = explorer;
    await page.route('**/v1/solicitations/count?*', (route) => route.fulfill({ json: { total: 0 } }));
    await explorer.open('#/coops');
    await explorer.open('#/overview');
    await page.getByText('No solicitation that you see is open and closes in the next 13 weeks.').waitFor();
    expect(await page.locator('.chart').count()).toBe(0);
  });

  testWith('chromium')('draws its chart anew in the colours and the width of the page', async () => {
    const explorer = await explorable.explore('all', { viewport: { width: 1280, height: 900 }, colorScheme: 'light' });
    const { page } = explorer;
    const drawn = (): Promise<string> => page.evaluate<string>("document.querySelector('.plot canvas').toDataURL()");
    const pictures = [await drawn()];
    const changes = [
      () => page.evaluate("document.documentElement.dataset.theme = 'dark'"),
      () => page.setViewportSize({ width: 360, height: 800 }),
    ];
    for (const change of changes) {
      await change();
      await expect.poll(async () => pictures.includes(await drawn())).toBe(false);
      pictures.push(await drawn());
    }
    const box = await page.locator('.plot canvas').boundingBox();
    expect((box?.x ?? 0) + (box?.width ?? Infinity)).toBeLessThanOrEqual(360);
  });

  testWith('chromium')('shows the key: its end, what it sees, and its requests', async () => {
    const explorer = await explorable.explore('contracts-only');
    const { page } = explorer;
    await page.getByRole('link', { name: 'Your key' }).click();
    await page.getByRole('heading', { name: 'Your key' }).waitFor();
    const key = await explorable.ask<{ id: string; usage: unknown[] }>('/v1/key', 'contracts-only');
    const facts = await page.locator('.facts').innerText();
    for (const fact of [key.id, 'contracts-only', 'never', 'everything', 'contracts']) expect(facts).toContain(fact);
    expect(await page.getByText(`requests with this key in ${key.usage.length} days`).count()).toBe(1);
    expect(await page.locator('.view').innerText()).not.toContain(explorable.key('contracts-only'));
  });
});
