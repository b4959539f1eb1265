import type { Locator } from 'playwright-core';
import { beforeAll, describe, expect } from 'vitest';
import { run } from '../../client/test/support/programs.ts';
import { dataOf } from '../support/client.ts';
import { testWith } from '../support/installed-programs.ts';
import { publishLines, solicitation } from '../support/publishing.ts';
import { exploreForAllTests, giveKey, HOSTILE, type Explorer } from './explorer-service.ts';

const MAX_PAGE_BYTES = 200_000;

const explorable = exploreForAllTests();
const { ask } = explorable;
let explorer: Explorer;

beforeAll(async () => {
  explorer = await explorable.explore('all');
});

/** The parameters that the page offers by name, and the lists that the names come from. */
const OFFERED = new Map([
  ['lead_entity', 'lead-entities'],
  ['coop', 'coops'],
  ['city_service', 'city-services'],
]);

const DATES = new Set(['updated_since', 'closing_after', 'closing_before']);

interface Listed {
  data: Record<string, string>[];
}

/** A user types this into a field: a name, if the page offers names for it. */
async function nameOf(parameter: string, value: string): Promise<string> {
  const list = OFFERED.get(parameter);
  if (list === undefined) return value;
  return (await ask<Listed>(`/v1/${list}?limit=100`)).data.find(({ id }) => id === value)?.['name'] ?? value;
}

/** The panel of the overview with this title. */
const panel = (title: string): Locator => explorer.page.getByRole('region', { name: title, exact: true });

/** The names and numbers of a chart, from its table. */
async function readChart(title: string): Promise<Record<string, number>> {
  const rows = panel(title).locator('.chart tbody tr');
  const names = await rows.locator('th').allTextContents();
  const counts = await rows.locator('td').allTextContents();
  return Object.fromEntries(names.map((name, index) => [name, Number(counts[index]?.replaceAll(',', ''))]));
}

const rowNames = (): Promise<string[]> =>
  explorer.page.locator('.view .table-scroll tbody th[scope=row]').allTextContents();

describe('the explorer', () => {
  testWith('chromium')('shows in eight requests what the service counts, and what changed last', async () => {
    const other = await explorable.open();
    const asked: string[] = [];
    other.page.on('request', (request) => asked.push(request.url()));
    await giveKey(other, explorable.key('all'));
    await other.settled();
    expect(asked.filter((url) => url.includes('/v1/'))).toHaveLength(8);
    const numbersIn = async (part: string): Promise<Record<string, number>> => {
      const entries = (await other.page.locator(part).allInnerTexts()).map((text) => text.split(/\s+/));
      return Object.fromEntries(
        entries.map((words) => [
          words.filter((word) => /[a-z]/i.test(word)).join(' '),
          Number(words.find((word) => /^[\d,]+$/.test(word))?.replaceAll(',', '')),
        ]),
      );
    };
    const count = async (path: string): Promise<number> => (await ask<{ total: number }>(path)).total;
    expect(await numbersIn('.tiles li')).toEqual({
      Solicitations: await count('/v1/solicitations/count'),
      Contracts: await count('/v1/contracts/count'),
      Suppliers: await count('/v1/suppliers/count'),
    });
    const statuses = await numbersIn('.legend li');
    expect(Object.keys(statuses)).toEqual(['open', 'closed', 'awarded', 'cancelled']);
    for (const [status, number] of Object.entries(statuses)) {
      expect(number, status).toBe(await count(`/v1/solicitations/count?status=${status}`));
    }
    const { data_published_at: since = '' } = await ask<Record<string, string>>('/v1/key');
    const changed: string[] = [];
    for (const [kind, field] of [
      ['solicitations', 'title'],
      ['contracts', 'name'],
    ] as const) {
      const { data } = await ask<Listed>(`/v1/${kind}?updated_since=${since}&limit=4`);
      changed.push(...data.map((record) => record[field] ?? ''));
    }
    expect(changed.length).toBeGreaterThan(4);
    const listed = other.page.getByRole('region', { name: 'Changed last' }).locator('.rows a');
    expect(await listed.allTextContents()).toEqual(changed);
    expect(other.record.complaints).toEqual([]);
  });

  testWith('chromium')(
    'shows the next deadlines in order, and all by week, and leads from a week to its list',
    async () => {
      await explorer.open('#/overview');
      const weeks = await readChart('Deadlines by week');
      const { data } = await ask<Listed>(
        `/v1/solicitations?status=open&closing_after=${new Date().toISOString()}` +
          `&closing_before=${new Date(Date.now() + 90 * 86_400_000).toISOString()}&limit=100`,
      );
      const inOrder = data.toSorted(
        (one, other) => Date.parse(one['close_at'] ?? '') - Date.parse(other['close_at'] ?? ''),
      );
      expect(inOrder.length).toBeGreaterThan(25);
      const listed = panel('Next deadlines').locator('.rows a');
      expect(await listed.allTextContents()).toEqual(inOrder.slice(0, 10).map(({ title }) => title));
      expect(await panel('Next deadlines').locator('.lead').first().innerText()).toMatch(
        /^(within a|in a|in \d+) days?$/,
      );
      const more = explorer.page.getByRole('button', { name: /^Show (25 more of|the last) \d+$/ });
      await more.click();
      await listed.nth(10).and(explorer.page.locator(':focus')).waitFor();
      while (await more.isVisible()) await more.click();
      expect(await listed.allTextContents()).toEqual(inOrder.map(({ title }) => title));
      expect(Object.values(weeks).reduce((sum, perWeek) => sum + perWeek, 0)).toBe(inOrder.length);

      const [week = '', count] = Object.entries(weeks)[0] ?? [];
      await panel('Deadlines by week').getByText('As a table').click();
      await explorer.page.getByRole('link', { name: week, exact: true }).click();
      await explorer.page.getByRole('heading', { name: 'Solicitations', exact: true }).waitFor();
      await explorer.settled();
      expect(await rowNames()).toHaveLength(count ?? NaN);

      await explorer.open('#/overview');
      const bars = panel('Deadlines by week').locator('.u-over');
      await bars.click({ position: { x: 5, y: 5 } });
      await explorer.page.locator('.table-scroll').waitFor();
      expect(await rowNames()).toHaveLength(count ?? NaN);
    },
  );

  testWith('chromium')('searches every kind for the same words', async () => {
    const { page } = explorer;
    await page.getByRole('searchbox', { name: 'Search all that the key sees' }).fill('invented');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Search for “invented”' }).waitFor();
    await explorer.settled();
    for (const [kind, title, field] of [
      ['solicitations', 'Solicitations', 'title'],
      ['lead-entities', 'Lead entities', 'name'],
    ] as const) {
      const { data } = await ask<Listed>(`/v1/${kind}?q=invented&limit=5`);
      expect(data.length, kind).toBeGreaterThan(0);
      const text = await page.locator(`.found:has(h3:text-is("${title}")) + .rows`).innerText();
      for (const record of data) expect(text).toContain(record[field]);
    }
    await page.getByRole('link', { name: 'All that match in solicitations' }).click();
    await page.locator('.table-scroll').waitFor();
    expect(new URL(page.url()).hash).toBe('#/solicitations?q=invented');
    await explorer.open('#/search?q=nothingatallhere');
    await page.getByText('Nothing matches in solicitations, contracts,').waitFor();
  });

  testWith('chromium')('counts each status beside the list, and sorts a page by deadline', async () => {
    const { page } = explorer;
    await explorer.open('#/solicitations?q=invented&status=open,closed&limit=100');
    const statuses = page.getByRole('navigation', { name: 'By status' });
    let total = 0;
    for (const status of ['open', 'closed', 'awarded', 'cancelled']) {
      const counted = await ask<{ total: number }>(`/v1/solicitations/count?q=invented&status=${status}`);
      await statuses.getByRole('link', { name: `${status} ${counted.total}`, exact: true }).waitFor();
      if (['open', 'closed'].includes(status)) total += counted.total;
    }
    expect(await rowNames()).toHaveLength(total);
    await page.getByLabel('Sort this page by deadline').check();
    const now = Date.now();
    const times = await page.evaluate<(string | null)[]>(
      `[...document.querySelectorAll('.table-scroll td[data-label=Closes]')]
        .map((cell) => cell.querySelector('time')?.dateTime ?? null)`,
    );
    const [next, past, none] = [
      times.filter((time) => time !== null && Date.parse(time) >= now),
      times.filter((time) => time !== null && Date.parse(time) < now),
      times.filter((time) => time === null),
    ];
    expect(Math.min(next.length, past.length)).toBeGreaterThan(1);
    expect(times).toEqual([...next.toSorted(), ...past.toSorted().toReversed(), ...none]);
    await statuses.getByRole('link', { name: /^cancelled/ }).click();
    await page.locator('.statuses [aria-current]', { hasText: 'cancelled' }).waitFor();
    expect(await page.getByLabel('Sort this page by deadline').isChecked()).toBe(true);
    await page.getByLabel('Sort this page by deadline').uncheck();
  });

  testWith('chromium')('shows every list through each of its filters, as the service answers them', async () => {
    const asked: [view: string, titleField: string, filters: Record<string, string>][] = [
      ['solicitations', 'title', { q: 'water', status: 'open', updated_since: '2020-01-01T00:00:00Z', limit: '10' }],
      ['solicitations', 'title', { lead_entity: 'le_example_city', closing_after: '2026-01-01T00:00:00Z' }],
      ['solicitations', 'title', { lead_entity: 'le_example_city', closing_before: '2999-01-01T00:00:00Z' }],
      ['solicitations', 'title', { status: 'open,awarded', is_open: 'true', nigp: '072,90600,913' }],
      ['contracts', 'name', { q: 'fire', coop: 'co_costars_963a' }],
      [
        'contracts',
        'name',
        { supplier: 'sup_pa_steinberger_floors_inc_bb87', lead_entity: 'le_city_of_pittsburgh_d85d' },
      ],
      ['contracts', 'name', { city_service: 'cs_hostile', updated_since: '2020-01-01T00:00:00Z' }],
      ['suppliers', 'name', { q: 'construction', state: 'MD,PA', certifications: 'MBE,DBE' }],
      ['suppliers', 'name', { city_service: 'cs_hostile', updated_since: '2020-01-01T00:00:00Z' }],
      ['certifications', 'abbreviation', { q: 'women', type: 'sbe' }],
      ['lead-entities', 'name', { q: 'city', limit: '10' }],
      ['coops', 'name', {}],
      ['city-services', 'name', {}],
    ];
    for (const [view, titleField, filters] of asked) {
      const query = new URLSearchParams(filters).toString();
      const { data } = await ask<Listed>(`/v1/${view}?${query}`);
      expect(data.length, `${view}?${query}`).toBeGreaterThan(0);
      await explorer.open(`#/${view}`);
      for (const [name, value] of Object.entries(filters)) {
        const field = explorer.page.locator(`#filter-${name}`);
        if ((await field.and(explorer.page.locator('select')).count()) > 0) await field.selectOption(value);
        else if (name === 'status') for (const status of value.split(',')) await field.getByLabel(status).check();
        else if (DATES.has(name)) await field.fill(value.slice(0, 'YYYY-MM-DDTHH:MM'.length));
        else await field.fill(await nameOf(name, value));
      }
      await explorer.page.getByRole('button', { name: 'Show' }).click();
      await explorer.settled();
      await expect.poll(rowNames, { message: `${view}?${query}` }).toEqual(data.map((record) => record[titleField]));
      expect(Object.fromEntries(new URLSearchParams(new URL(explorer.page.url()).hash.split('?')[1]))).toEqual(filters);
    }
  });

  testWith('chromium')('pages forward and back, by its links and by those of the browser', async () => {
    const responses = await explorable.service.listAllPages('/v1/lead-entities', explorable.key('all'), [25]);
    const pages = responses.map((page) => dataOf(page).map(({ name }) => name));
    expect(pages).toHaveLength(4);
    const shows = (number: number): Promise<void> => expect.poll(rowNames).toEqual(pages[number - 1]);
    const follow = (name: string): Promise<void> => explorer.page.getByRole('link', { name }).click();
    await explorer.open('#/lead-entities');
    await shows(1);
    for (const number of [2, 3, 4]) {
      await follow('Next page');
      await shows(number);
    }
    expect(await explorer.page.getByText('page 4, the last').count()).toBe(1);
    expect(await explorer.page.getByRole('link', { name: 'Next page' }).count()).toBe(0);
    await explorer.page.reload();
    await giveKey(explorer, explorable.key('all'));
    await shows(4);
    expect(await explorer.page.getByText('page 4, the last').count()).toBe(1);
    await follow('Previous page');
    await shows(3);
    await explorer.page.goBack();
    await shows(4);
    await follow('First page');
    await shows(1);
    await explorer.page.goBack();
    await shows(4);
    await explorer.page.goForward();
    await shows(1);
  });

  testWith('chromium')('shows a record with its documents, notices and questions', async () => {
    await explorer.open('#/solicitations?q=library');
    await explorer.page.getByRole('link', { name: 'Library shelving (invented)' }).click();
    await explorer.page.getByRole('heading', { name: 'Library shelving (invented)' }).waitFor();
    const text = await explorer.page.locator('.view').innerText();
    for (const part of ['Scope of work', 'Completed price schedule', 'Addendum 1', 'Is a bid bond required?']) {
      expect(text).toContain(part);
    }
    expect(text).toContain('No. A performance bond is required of the successful bidder.');
    await explorer.open('#/contracts/ctr_pa_1353_49621');
    await explorer.page.getByRole('link', { name: 'STEINBERGER FLOORS, INC.' }).click();
    await explorer.page.getByRole('heading', { name: 'STEINBERGER FLOORS, INC.' }).waitFor();
    await explorer.page.getByRole('link', { name: 'Its contracts' }).click();
    await expect.poll(rowNames).toContain('FLOOR COVERING SERVICES');
  });

  testWith('chromium', 'curl')(
    'gives the requests of each view as commands that a shell runs, without the key',
    async () => {
      const hostile = encodeURIComponent(`fire'; exit 3; echo '$PARTNER_DATA_KEY`);
      for (const address of ['#/overview', `#/contracts?q=${hostile}`, '#/solicitations/sol_hostile']) {
        await explorer.open(address);
        const commands = ((await explorer.page.locator('.requests code').textContent()) ?? '').split('\n');
        expect(commands.length).toBeGreaterThan(0);
        for (const command of commands) {
          expect(command).toContain('$PARTNER_DATA_KEY');
          expect(command).not.toContain(explorable.key('all'));
          const env = { PARTNER_DATA_KEY: explorable.key('all') };
          const stdout = await run('sh', ['-c', `${command} -sS`], { env });
          const lines = command.includes('format=ndjson') ? stdout.trim().split('\n') : [stdout];
          for (const line of lines) expect(JSON.parse(line), command).not.toHaveProperty('error');
        }
      }
    },
  );

  testWith('chromium')('shows hostile text in records as text', async () => {
    const { page, record } = explorer;
    const before = record.complaints.length;
    for (const [view, id] of [
      ['solicitations', 'sol_hostile'],
      ['contracts', 'ctr_hostile'],
      ['suppliers', 'sup_hostile'],
    ]) {
      await explorer.open(`#/${view}/${id}`);
      expect(await page.locator('.view h2').textContent()).toBe(HOSTILE);
      await explorer.open(`#/${view}?updated_since=2020-01-01T00:00:00Z&q=onerror`);
      expect(await rowNames()).toEqual([HOSTILE]);
      expect(await page.title()).toBe(
        `${(await page.locator('.view h2').textContent()) ?? ''} · Explorer · Partner data service`,
      );
    }
    await explorer.open('#/suppliers/sup_hostile');
    expect(await page.getByText('javascript:alert(1)').count()).toBe(1);
    const links = await page
      .locator('#explorer a')
      .evaluateAll((all) => all.map((entry) => (entry as unknown as { protocol: string }).protocol));
    expect(new Set(links)).toEqual(new Set(['http:']));
    expect(await page.locator('#explorer img, #explorer script').count()).toBe(0);
    expect(record.complaints.slice(before)).toEqual([]);
  });

  testWith('chromium')('asks its own origin alone, in less than 200 kB, and complains of nothing', async () => {
    const { page, record } = await explorable.open();
    await page.getByLabel('API key').waitFor();
    const sizes = await page.evaluate<number[]>(
      `[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
        .map(({ transferSize }) => transferSize)`,
    );
    expect(sizes.length).toBeGreaterThan(10);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(MAX_PAGE_BYTES);
    expect([...record.origins, ...explorer.record.origins]).toEqual([explorable.service.url, explorable.service.url]);
    expect([...record.complaints, ...explorer.record.complaints]).toEqual([]);
  });

  testWith('chromium')('lists the nearest of 3,000 deadlines, and counts all in equal periods', async () => {
    const inDays = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString();
    const many = Array.from({ length: 3000 }, (_, index) => ({
      ...solicitation(`sol_many_${index}`, 2_000_000 + index),
      lead_entity_id: 'le_example_city',
      // The nearest are neither the first nor the last by id.
      close_at: inDays(0.5 + ((index * 7) % 3000) / 40),
    }));
    await publishLines(explorable.service.database, { solicitations: many });
    await explorable.service.noticeChanges();
    const { page } = explorer;
    await explorer.open('#/coops');
    await explorer.open('#/overview');
    const weeks = await readChart('Deadlines by week');
    const lengths = await page.locator('.chart a').evaluateAll((links) =>
      links.map((link) => {
        const query = new URLSearchParams((link as unknown as { hash: string }).hash.split('?')[1]);
        return Date.parse(query.get('closing_before') ?? '') - Date.parse(query.get('closing_after') ?? '');
      }),
    );
    // The first week has begun.
    expect(new Set(lengths.slice(1))).toEqual(new Set([7 * 86_400_000 - 1]));
    const total = Object.values(weeks).reduce((sum, perWeek) => sum + perWeek, 0);
    expect(total).toBeGreaterThan(3000);
    await page.getByText(`${total.toLocaleString('en')} open solicitations close in the next 13 weeks`).waitFor();
    const names = await page.evaluate<string[]>(
      `[...document.querySelectorAll('[aria-label="Next deadlines"] time')].map(({ dateTime }) => dateTime)`,
    );
    expect(names).toHaveLength(10);
    expect(names).toEqual(names.toSorted());
    const before = names.at(-1) ?? '';
    const { total: nearer } = await ask<{ total: number }>(
      `/v1/solicitations/count?status=open&closing_after=${inDays(0)}&closing_before=${before}`,
    );
    expect(nearer).toBe(10);

    // More than it reads at once.
    await page.route('**/v1/solicitations/count?*', (route) => route.fulfill({ json: { total: 10_001 } }), {
      times: 1,
    });
    await explorer.open('#/coops');
    await explorer.open('#/overview');
    const days = Object.keys(await readChart('Deadlines by day'));
    expect(days.length).toBeGreaterThan(10);
    expect(days[0]).toMatch(/^\d+ \w+$/);
    expect(await page.locator('.requests summary').textContent()).toBe('The 8 requests behind this view');
  });
});
