import { expect, test } from 'vitest';
import { loadDemo } from '../../src/commands/serve/demo.ts';
import { databaseForEachTest } from '../support/database.ts';
import { publishLines, SMALL_CATALOG, solicitation } from '../support/publishing.ts';

const DAY_MS = 86_400_000;
const FILLED_MS = Date.parse('2027-03-01T09:30:00Z');

const made = databaseForEachTest();

function readSolicitations() {
  return made.database.kysely
    .selectFrom('catalog.solicitations')
    .select(['id', 'ref', 'status', 'close_at', 'document'])
    .orderBy('id')
    .execute();
}

/** How many of the status open have a deadline in the sixty days from `nowMs` on. */
async function countDeadlines(nowMs: number): Promise<number> {
  const range = [nowMs, nowMs + 60 * DAY_MS].map((ms) => new Date(ms).toISOString());
  const [from = '', to = ''] = range;
  const rows = await readSolicitations();
  return rows.filter(({ status, close_at: at }) => status === 'open' && at !== null && at >= from && at <= to).length;
}

test('the demo has every status, none above two thirds, and deadlines before and after today', async () => {
  await loadDemo(made.database, () => FILLED_MS);
  const rows = await readSolicitations();
  for (const status of ['open', 'closed', 'awarded', 'cancelled']) {
    const share = rows.filter((row) => row.status === status).length / rows.length;
    expect(share, status).toBeGreaterThan(0.02);
    expect(share, status).toBeLessThan(2 / 3);
  }
  expect(await countDeadlines(FILLED_MS)).toBeGreaterThanOrEqual(20);
  const now = new Date(FILLED_MS).toISOString();
  const open = rows.filter(({ status }) => status === 'open');
  expect(open.filter(({ close_at }) => close_at !== null && close_at < now).length).toBeGreaterThan(20);
  expect(open.filter(({ close_at }) => close_at === null).length).toBeGreaterThan(20);
});

test('a demo that is started again weeks later has moved its deadlines and nothing else', async () => {
  await loadDemo(made.database, () => FILLED_MS);
  const before = await readSolicitations();
  await loadDemo(made.database, () => FILLED_MS + 3_600_000);
  expect(await readSolicitations()).toEqual(before);

  const laterMs = FILLED_MS + 70 * DAY_MS;
  await loadDemo(made.database, () => laterMs);
  expect(await countDeadlines(laterMs)).toBeGreaterThanOrEqual(20);
  const after = await readSolicitations();
  expect(after.map(({ id, ref }) => [id, ref])).toEqual(before.map(({ id, ref }) => [id, ref]));
  const isReal = ({ id }: { id: string }): boolean => !id.startsWith('sol_example_');
  expect(after.filter(isReal)).toEqual(before.filter(isReal));
});

test('what was imported over a demo stays as it is', async () => {
  await loadDemo(made.database, () => FILLED_MS);
  const own = { ...solicitation('sol_fed_grants_gov_pa_12_295', 10_001), title: 'Changed' };
  await publishLines(made.database, { 'lead-entities': SMALL_CATALOG['lead-entities'], solicitations: [own] });
  await loadDemo(made.database, () => FILLED_MS + 70 * DAY_MS);
  const changed = (await readSolicitations()).find(({ id }) => id === own.id);
  expect(changed?.document).toContain('"title":"Changed"');
});

test('a database with records of its own is left as it is', async () => {
  await publishLines(made.database, SMALL_CATALOG);
  const before = await readSolicitations();
  await loadDemo(made.database, Date.now);
  expect(await readSolicitations()).toEqual(before);
  expect(await made.database.kysely.selectFrom('access.partners').selectAll().execute()).toEqual([]);
});
