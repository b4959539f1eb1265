import { beforeEach, expect, test } from 'vitest';
import { createPartner } from '../../src/access/partner-admin.ts';
import { databaseForEachTest } from '../support/database.ts';
import { callPds } from './call-pds.ts';

const DAY_MS = 86_400_000;

/** The start of the day on which this test began, in milliseconds since the epoch. */
let todayMs: number;

const made = databaseForEachTest();
beforeEach(async () => {
  todayMs = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  for (const name of ['acme', 'busy', 'silent']) {
    await createPartner(made.database, Date.now, name, { everything: true });
  }
  const partners = await made.database.kysely.selectFrom('access.partners').select(['id', 'name']).execute();
  const idOf = (name: string): number => partners.find((partner) => partner.name === name)?.id ?? 0;
  const row = (name: string, keyId: string, endpoint: string, daysAgo: number, requests: number) => ({
    ...{ day: dayAgo(daysAgo), partner_id: idOf(name), key_id: keyId, endpoint, requests },
    ...{ records: requests * 10, limited: 1, failed: 2 },
  });
  await made.database.kysely
    .insertInto('access.usage')
    .values([
      row('acme', 'key00001', '/v1/contracts', 0, 1_000),
      row('acme', 'key00001', '/v1/contracts', 2, 500),
      row('acme', 'key00002', '/v1/contracts', 2, 7),
      row('acme', 'key00002', 'unknown', 29, 3),
      row('acme', 'key00002', 'unknown', 30, 9_999),
      row('busy', 'key00003', '/v1/suppliers/:id', 1, 1_234_567),
    ])
    .execute();
});

function dayAgo(days: number): string {
  return new Date(todayMs - days * DAY_MS).toISOString().slice(0, 10);
}

async function pds(line: string) {
  const outcome = await callPds(line.split(' '), made.settings);
  // Fails if midnight passed.
  expect(Math.floor(Date.now() / DAY_MS) * DAY_MS).toBe(todayMs);
  return outcome;
}

test('pds usage lists each partner of the last thirty days, the busiest first, with a bar per day', async () => {
  const { code, stdout, stderr } = await pds('usage');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout.split('\n')).toEqual([
    `PARTNER   REQUESTS     RECORDS  LIMITED  FAILED  ${dayAgo(29)} TO ${dayAgo(0)}`,
    `busy     1,234,567  12,345,670        1       2  ${'▁'.repeat(28)}█▁`,
    `acme         1,510      15,100        4       8  ${'▁'.repeat(27)}▅▁█`,
    `silent           0           0        0       0  ${'▁'.repeat(30)}`,
    `total    1,236,077  12,360,770        5      10  ${'▁'.repeat(28)}█▁`,
    '',
  ]);
});

test("pds usage NAME lists a partner's requests by key and endpoint", async () => {
  const { stdout } = await pds('usage acme --days 3');
  expect(stdout.split('\n')).toEqual([
    `KEY ID    ENDPOINT       REQUESTS  RECORDS  LIMITED  FAILED  ${dayAgo(2)} TO ${dayAgo(0)}`,
    'key00001  /v1/contracts     1,500   15,000        2       4  ▄▁█',
    'key00002  /v1/contracts         7       70        1       2  █▁▁',
    'total                       1,507   15,070        3       6  ▅▁█',
    '',
  ]);
  expect((await pds('usage nobody')).code).toBe(1);
});

test('pds usage combines days in a bar if there are many', async () => {
  const chart = /^acme .* (\S+)$/m.exec((await pds('usage --days 365')).stdout)?.[1];
  // 53 bars of seven days.
  expect(chart).toBe(`${'▁'.repeat(48)}█▁▁▁▂`);
});

test('pds usage --json has every day of every line, also without requests', async () => {
  const { stdout } = await pds('usage acme --days 2 --json');
  const nothing = { requests: 0, records: 0, limited: 0, failed: 0 };
  const today = { requests: 1_000, records: 10_000, limited: 1, failed: 2 };
  const days = [
    { day: dayAgo(1), ...nothing },
    { day: dayAgo(0), ...today },
  ];
  expect(JSON.parse(stdout)).toEqual({
    ...{ partner: 'acme', from: dayAgo(1), to: dayAgo(0) },
    keys: [{ key_id: 'key00001', endpoint: '/v1/contracts', ...today, days }],
    total: { ...today, days },
  });
  const all = JSON.parse((await pds('usage --json')).stdout) as { partners: { name: string; days: unknown[] }[] };
  expect(all.partners.map(({ name, days: listed }) => [name, listed.length])).toEqual([
    ['busy', 30],
    ['acme', 30],
    ['silent', 30],
  ]);
});
