import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { InterceptingProxy } from '../../client/test/support/intercepting-proxy.ts';
import { startSampleService } from '../../client/test/support/sample-service.ts';
import { testWith } from '../support/installed-programs.ts';
import { publishLines } from '../support/publishing.ts';
import type { TestService } from '../support/service.ts';
import { makeExampleProject, type ExampleProject } from './example-runner.ts';
import { listExamples } from './examples.ts';
import { readText } from './site.ts';

/** The examples request pieces of 10,000; the sample has fewer records. */
const PIECE = 500;

const EXAMPLES = listExamples(readText('docs/partner-guide/syncing.md')).slice(1);
const TOO_MANY = 'HTTP/1.1 429 Too Many Requests\r\nretry-after: 1\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}';

let service: TestService;
let proxy: InterceptingProxy;
let project: ExampleProject;
let environment: Record<string, string>;
/** The ids of the contracts in the service. */
let remaining: string[];

beforeAll(async () => {
  service = await startSampleService();
  proxy = await InterceptingProxy.start(Number(new URL(service.url).port));
  project = await makeExampleProject();
  environment = { PARTNER_DATA_URL: proxy.url, PARTNER_DATA_KEY: service.partner('all').key };
  const lines = readText('sample/contracts.ndjson').trimEnd().split('\n');
  remaining = lines.map((line) => (JSON.parse(line) as { id: string }).id);
}, 60_000);
afterAll(async () => {
  await project.remove();
  await proxy.close();
  await service.close();
});

const smaller = (target: string): string => target.replace(/limit=10000\b/, `limit=${PIECE}`);

/** Requests by target, with how often each reached the service. */
function requests(): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { target, status } of proxy.passed) if (status !== null) counts.set(target, (counts.get(target) ?? 0) + 1);
  return counts;
}

test('the guide keeps a copy in every language', () => {
  expect(EXAMPLES.map(({ language }) => language)).toEqual(['sh', 'ts', 'ts client', 'python']);
});

describe.each(EXAMPLES)('the $language example', (example) => {
  const run = (name: string) => project.run(example, environment, 1, name);
  const isWhole = example.language === 'sh';

  (example.language === 'python' ? testWith('python') : testWith('curl'))(
    'survives a 429, a reset connection and a restart, and reads one piece twice',
    async () => {
      const name = example.language.replace(' ', '-');
      // In the first run, the connections are reset from the fifth request on until it gives up.
      proxy.intercept(({ target }, index) => {
        if (index === 0) return { respond: TOO_MANY };
        if (index === 1) return { cutAfter: 5_000, target: smaller(target) };
        return index >= 4 && !isWhole ? { cutAfter: 0 } : { target: smaller(target) };
      });
      const first = await run(name);
      expect(first.code === 0, first.stderr).toBe(isWhole);
      const before = requests();
      proxy.intercept(({ target }) => ({ target: smaller(target) }));
      const second = await run(name);
      expect(second.stdout, second.stderr).toMatch(new RegExp(`^${remaining.length} contracts, next from `));
      const counts = [...before.entries(), ...requests().entries()];
      expect(counts.filter(([, count]) => count > 1)).toHaveLength(1);
      if (!isWhole) expect(counts).toHaveLength(Math.ceil(remaining.length / PIECE));
      // The next run has the changes since, including removals.
      const [gone, ...rest] = remaining;
      await publishLines(service.database, { contracts: [{ id: gone, deleted: true }] });
      await service.noticeChanges();
      remaining = rest;
      expect((await run(name)).stdout).toMatch(new RegExp(`^${remaining.length} contracts, next from `));
    },
    60_000,
  );
});
