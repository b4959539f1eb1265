import { readFileSync } from 'node:fs';
import { parse } from 'csv-parse/sync';
import type { Download } from 'playwright-core';
import { beforeAll, describe, expect } from 'vitest';
import { testWith } from '../support/installed-programs.ts';
import { publishLines, supplier } from '../support/publishing.ts';
import { exploreForAllTests, type Explorer } from './explorer-service.ts';

const FORMULA = '=HYPERLINK("http://127.0.0.1/","pay")';

const explorable = exploreForAllTests();
beforeAll(async () => {
  await publishLines(explorable.service.database, {
    suppliers: [{ ...supplier('sup_formula'), name: FORMULA, certifications: [], city_service_ids: [] }],
  });
  await explorable.service.noticeChanges();
});

async function download({ page }: Explorer, button: string): Promise<{ name: string; text: string }> {
  const downloading: Promise<Download> = page.waitForEvent('download');
  await page.getByRole('button', { name: button }).click();
  const file = await downloading;
  await page.getByText('Saved.').waitFor();
  return { name: file.suggestedFilename(), text: readFileSync(await file.path(), 'utf8') };
}

describe('the explorer', () => {
  testWith('chromium')('saves a list as CSV: all pages of what the filters select, byte for byte', async () => {
    const explorer = await explorable.explore('all');
    await explorer.open('#/suppliers?state=PA&limit=10');
    const { name, text } = await download(explorer, 'Raw CSV');
    expect(name).toBe('suppliers_state=PA.raw.csv');
    const { body } = await explorable.service.get('/v1/suppliers?state=PA&format=csv', { key: explorable.key('all') });
    expect(text).toBe(body);
    expect(parse(text, { record_delimiter: '\r\n' }).length).toBeGreaterThan(1_000);
    expect(await explorer.page.locator('.requests code').textContent()).toContain('/v1/suppliers?state=PA&format=csv');
    expect(explorer.record.complaints).toEqual([]);
  });

  testWith('chromium')(
    'saves it for a spreadsheet: with a byte order mark, and no cell that it would run',
    async () => {
      const explorer = await explorable.explore('all');
      await explorer.open('#/suppliers?updated_since=2020-01-01T00:00:00Z');
      const asServed = await download(explorer, 'Raw CSV');
      const altered = await download(explorer, 'CSV for a spreadsheet');
      expect(altered.name).toBe('suppliers_updated_since=2020-01-01T00-00-00Z.csv');
      expect(altered.text.startsWith('\uFEFF')).toBe(true);
      const topOf = async (part: string): Promise<number> =>
        (await explorer.page.locator(part).boundingBox())?.y ?? NaN;
      expect(await topOf('.download')).toBeLessThan(await topOf('.table-scroll'));
      const rowsOf = (text: string): string[][] => parse(text, { record_delimiter: '\r\n', bom: true });
      expect(rowsOf(asServed.text).map(([id, name]) => [id, name])).toContainEqual(['sup_formula', FORMULA]);
      expect(rowsOf(altered.text)).toEqual(
        rowsOf(asServed.text).map((row) => row.map((cell) => (/^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell))),
      );
    },
  );

  testWith('chromium')('saves nothing of a list that is cut or refused, and says why', async () => {
    const explorer = await explorable.explore('all');
    const { page } = explorer;
    await page.route('**/v1/coops?format=csv', (route) => route.abort('connectionreset'));
    await explorer.open('#/coops');
    const files: Download[] = [];
    page.on('download', (file) => files.push(file));
    await page.getByRole('button', { name: 'CSV for a spreadsheet' }).click();
    await page.getByText('No response.').waitFor();
    const refusal = { error: { code: 'rate_limited', message: 'Too many requests.', request_id: 'req_x' } };
    await page.route('**/v1/coops?format=csv', (route) => route.fulfill({ status: 429, json: refusal }));
    await page.getByRole('button', { name: 'CSV for a spreadsheet' }).click();
    await page.getByText('Too many requests (429).').waitFor();
    expect(files).toEqual([]);
  });
});
