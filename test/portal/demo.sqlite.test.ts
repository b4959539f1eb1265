import { expect } from 'vitest';
import { run } from '../../client/test/support/programs.ts';
import { ensureDemoPartner } from '../../src/commands/serve/demo.ts';
import { DEMO_KEY } from '../../src/access/keys.ts';
import { recordPage } from '../support/browser/browser.ts';
import { testWith } from '../support/installed-programs.ts';
import { serveSite } from './serve-site.ts';

const { site, testPage, withPage } = serveSite(({ database }) => ensureDemoPartner(database, Date.now));

testPage("a demo's explorer opens with its key at one press", {}, async (page) => {
  const { complaints } = recordPage(page);
  await page.goto(`${site.origin}/docs/explorer`);
  await page.getByRole('button', { name: 'Use the demo key' }).click();
  await page.getByText('No data has been published yet.').waitFor();
  await page.goto(`${site.origin}/docs/explorer#/contracts`);
  await page.getByRole('button', { name: 'Forget the key' }).waitFor();
  await page.getByText('Your key sees none.').waitFor();
  expect(complaints).toEqual([]);
});

testWith('chromium', 'curl')("the first command of a demo's overview works when it is pasted", async () => {
  await withPage({}, async (page) => {
    await page.goto(`${site.origin}/docs`, { waitUntil: 'networkidle' });
    const button = page.locator('.start [data-code]').first();
    const command = (await button.getAttribute('data-code'))?.replaceAll('\u007F', '\n') ?? '';
    expect(JSON.parse(await run('bash', ['-c', command]))).toMatchObject({ data: [], meta: { next_cursor: null } });
  });
});

testPage("a demo's reference sends requests with its key", {}, async (page) => {
  await page.goto(`${site.origin}/docs/reference#tag/reference-lists/GET/v1/coops`, { waitUntil: 'networkidle' });
  expect(await page.getByLabel('Bearer Token').first().inputValue()).toBe(DEMO_KEY);
  await page.getByRole('button', { name: 'Test Request' }).first().click();
  await page.getByRole('button', { name: 'Send' }).first().click();
  await page.getByText('200 OK').first().waitFor();
});
