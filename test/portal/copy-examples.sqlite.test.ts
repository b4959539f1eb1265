import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { beforeAll, describe, expect, test } from 'vitest';
import { setPartner } from '../../src/access/partner-admin.ts';
import { InterceptingProxy } from '../../client/test/support/intercepting-proxy.ts';
import { testWith } from '../support/installed-programs.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { contract, publishLines, SMALL_CATALOG } from '../support/publishing.ts';
import { serviceForAllTests } from '../support/service.ts';
import { makeExampleProject } from './example-runner.ts';
import { listExamples, type Example } from './examples.ts';
import { readText } from './site.ts';

const CONTRACTS = 100_000;
/** That the examples request. */
const PIECE = 10_000;
/** Requests a minute, if an operator sets nothing else. */
const DEFAULT_LIMIT = 600;

const EXAMPLES = listExamples(readText('docs/partner-guide/syncing.md'));
const TOO_MANY = 'HTTP/1.1 429 Too Many Requests\r\nretry-after: 1\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}';

const contracts = Array.from({ length: CONTRACTS }, (_, index) => contract(`ctr_${index}`));
const partners = EXAMPLES.map(({ language }) => ({ name: nameOf(language), everything: true }));
const service = serviceForAllTests({ catalog: { ...SMALL_CATALOG, contracts }, partners, clock: Date.now }, 120_000);
const proxy = forAllTests(() => InterceptingProxy.start(Number(new URL(service.url).port)));
const project = forAllTests(makeExampleProject, 120_000);
beforeAll(async () => {
  for (const { name } of partners) await setPartner(service.database, Date.now, name, { requestsPerMinute: null });
  await service.noticeChanges();
});

function nameOf(language: string): string {
  return language.replace(' ', '-');
}

/** Requests by target, with how often each reached the service. */
function requests(): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { target, status } of proxy.passed) if (status !== null) counts.set(target, (counts.get(target) ?? 0) + 1);
  return counts;
}

/** The contracts of a copy, as the example that keeps it stores them. */
async function readCopy({ language }: Example): Promise<Map<string, unknown>> {
  const folder = join(project.directory, nameOf(language));
  if (language === 'sh') {
    const lines = (await readFile(join(folder, 'copy.ndjson'), 'utf8')).trimEnd().split('\n');
    expect(lines.pop()).toMatch(/^\{"meta"/);
    return byId(lines.map((line) => (JSON.parse(line) as { record: unknown }).record));
  }
  if (language === 'ts client') {
    const { records } = JSON.parse(await readFile(join(folder, 'copy.json'), 'utf8')) as {
      records: [string, unknown][];
    };
    return byId(records.map(([, record]) => record));
  }
  using database = new DatabaseSync(join(folder, 'copy.sqlite'), { readOnly: true });
  const rows = database.prepare('select record from records').all();
  return byId(rows.map((row) => JSON.parse(String(row['record'])) as unknown));
}

function byId(records: readonly unknown[]): Map<string, unknown> {
  expect(new Set(records.map((record) => (record as { id: string }).id)).size).toBe(records.length);
  return new Map(records.map((record) => [(record as { id: string }).id, record]));
}

/** The contracts that the service serves now, read by the test itself. */
async function served(key: string): Promise<Map<string, unknown>> {
  const { headers, body } = await service.get('/v1/contracts?format=ndjson', { key });
  expect(headers['ratelimit-policy']).toContain(`q=${DEFAULT_LIMIT};`);
  const lines = body.trimEnd().split('\n');
  return byId(lines.map((line) => JSON.parse(line) as unknown));
}

test('a change, a removal and the end of a response are as the guide shows them', async () => {
  const [, documented = ''] = /```json\n([^`]+)```/.exec(readText('docs/partner-guide/syncing.md')) ?? [];
  const { key } = service.partner('sh');
  const read = async (query: string): Promise<ChangesPage> =>
    JSON.parse((await service.get(`/v1/changes?kinds=contracts${query}`, { key })).body) as ChangesPage;
  const { headers } = await fetch(`${service.url}/v1/coops`, { headers: { authorization: `Bearer ${key}` } });
  const since = headers.get('x-sync-watermark') ?? '';
  await publishLines(service.database, {
    contracts: [
      { ...contract('ctr_99998'), name: 'Office supplies' },
      { id: 'ctr_99999', deleted: true },
    ],
  });
  await service.noticeChanges();
  const fieldsOf = ({ data, meta }: ChangesPage) => [...data, meta].map((part) => Object.keys(part));
  expect(fieldsOf(await read(`&updated_since=${since}`))).toEqual(fieldsOf(JSON.parse(documented) as ChangesPage));
});

interface ChangesPage {
  readonly data: object[];
  readonly meta: object;
}

describe.each(EXAMPLES)('the $language example, of 100,000 contracts and under the default limit,', (example) => {
  const name = nameOf(example.language);
  const run = () => project.run(example, { PARTNER_DATA_URL: proxy.url, PARTNER_DATA_KEY: key() }, 1, name);
  const key = (): string => service.partner(name).key;
  /** The shell's piece is the whole listing. */
  const isWhole = example.language === 'sh';

  (example.language === 'python' ? testWith('python') : testWith('curl'))(
    'survives a 429, a reset connection and a restart, loses nothing, and reads one piece twice',
    async () => {
      // In the first run, the connections are reset from the fifth request on until it gives up.
      proxy.intercept((_request, index) => {
        if (index === 0) return { respond: TOO_MANY };
        if (index === 1) return { cutAfter: 5_000 };
        return index >= 4 && !isWhole ? { cutAfter: 0 } : {};
      });
      const first = await run();
      expect(first.code === 0, first.stderr).toBe(isWhole);
      const before = requests();
      proxy.intercept(null);
      const second = await run();
      const expected = await served(key());
      expect(second.stdout, second.stderr).toMatch(new RegExp(`^${expected.size} contracts, next from `));
      const counts = [...before.entries(), ...requests().entries()];
      expect(counts.filter(([, count]) => count > 1)).toHaveLength(1);
      if (!isWhole) expect(counts).toHaveLength(CONTRACTS / PIECE);
      expect(await readCopy(example)).toEqual(expected);
      // The next run has the changes since, including removals.
      const gone = `ctr_${EXAMPLES.indexOf(example)}`;
      await publishLines(service.database, { contracts: [{ id: gone, deleted: true }] });
      await service.noticeChanges();
      expect((await run()).code).toBe(0);
      const copy = await readCopy(example);
      expect(copy.has(gone)).toBe(false);
      expect(copy).toEqual(await served(key()));
    },
    180_000,
  );
});
