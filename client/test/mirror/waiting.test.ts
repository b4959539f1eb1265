import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test, type TestContext } from 'vitest';
import { solicitation } from '../../../test/support/publishing.ts';
import { readCopy, STORES, storeOptions } from './support/copies.ts';
import { firstCatalog } from './support/histories.ts';
import { MirroredService } from './support/mirrored-service.ts';
import { SmallPages } from './support/small-pages.ts';

// Tests that must wait for real time to pass. They run concurrently, each with its own service.

/** Requests per minute, low enough to be reached. */
const QUOTA = 80;
/** Requests already made by the partner's other program: most of the quota, so both mirrors soon reach the limit. */
const USED = 65;

/** Time until a deadline: enough to start a service and run two mirrors one after the other on a busy machine. */
const AHEAD_MS = 20_000;

const OPEN = { ...solicitation('sol_1', 2), lead_entity_id: 'le_1' };

/** Takes the test's own context, because concurrent tests cannot use the global `onTestFinished`. */
async function start({ onTestFinished }: TestContext, requestsPerMinute = 1_000_000): Promise<MirroredService> {
  const partner = { name: 'acme', everything: true, requestsPerMinute };
  const service = await MirroredService.start(firstCatalog(), partner, { isKillable: true });
  onTestFinished(() => service.close());
  return service;
}

describe.concurrent('in real time', { timeout: 300_000 }, () => {
  test('two mirrors and another program with one limit never get 429 twice in a row, and copy everything', async (context) => {
    const service = await start(context, QUOTA);
    const second = await SmallPages.start(3);
    context.onTestFinished(() => second.close());
    second.servicePort = service.pages.servicePort;
    for (let sent = 0; sent < USED; sent += 1) await service.status('/v1/coops');
    const mirrors = [
      service.startMirror(...storeOptions('sqlite', service.folder)),
      service.startMirror(...storeOptions('ndjson', service.folder), '--url', second.url),
    ];
    for (const mirror of mirrors) {
      const { code, stderr } = await mirror.ended;
      expect(code, stderr).toBe(0);
    }
    for (const pages of [service.pages, second]) {
      const statuses = pages.passed.map(({ status }) => status);
      expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(20);
      statuses.forEach((status, index) => {
        if (status === 429) expect(statuses[index + 1]).not.toBe(429);
      });
    }
    // The mirrors sent more requests than the first window allowed.
    expect(service.pages.passed.length + second.passed.length).toBeGreaterThan(QUOTA - USED);
    expect(readCopy('sqlite', service.folder)).toEqual(readCopy('ndjson', service.folder));
  });

  test.for(STORES)('a mirror into %s reads a solicitation again after its deadline', async (type, context) => {
    const service = await start(context);
    const args = storeOptions(type, service.folder);
    const close_at = new Date(Date.now() + AHEAD_MS).toISOString();
    // Several, because every run reads the detail of one solicitation that is not open anyway.
    const ids = ['sol_1', 'sol_3', 'sol_5'];
    const publish = (more: object): Promise<void> =>
      service.publish({
        solicitations: ids.map((id) => ({ ...OPEN, id, ref: Number(id.slice(4)) + 1, close_at, ...more })),
      });
    await publish({});
    await service.settle();
    await service.startMirror(...args).ended;
    const notices = [{ id: 1, title: 'At the last moment', body: '', created_at: '2026-01-01T00:00:00.000Z' }];
    await publish({ notices });
    await service.settle();
    expect(Date.now()).toBeLessThan(Date.parse(close_at));
    await sleep(Date.parse(close_at) - Date.now() + 1);
    await service.startMirror(...args).ended;
    const copy = readCopy(type, service.folder);
    for (const id of ids) expect(copy.details.get(id)).toMatchObject({ notices, is_open: false });
    service.pages.passed = [];
    await service.startMirror(...args).ended;
    const again = service.pages.passed.filter(({ target }) => ids.some((id) => target.endsWith(`/${id}`)));
    expect(again.length).toBeLessThan(2);
  });

  test.for(STORES)(
    'a watching mirror into %s updates is_open at each deadline without a request, and exits with 0 on SIGTERM',
    async (type, context) => {
      const service = await start(context);
      const closeAt = new Date(Date.now() + AHEAD_MS).toISOString();
      await service.publish({ solicitations: [{ ...OPEN, close_at: closeAt }] });
      await service.settle();
      const watching = service.startMirror(...storeOptions(type, service.folder), '--watch', '1h', '--json');
      await watching.printed('"ok":true');
      const isOpen = (): unknown => readCopy(type, service.folder).solicitations.get('sol_1')?.['is_open'];
      expect(isOpen()).toBe(true);
      const count = service.pages.passed.length;
      await sleep(Date.parse(closeAt) - Date.now() + 1);
      // Files are written shortly after the deadline.
      await expect.poll(isOpen, { timeout: 10_000 }).toBe(false);
      expect(service.pages.passed).toHaveLength(count);
      watching.kill('SIGTERM');
      const { code, stdout } = await watching.ended;
      expect(code).toBe(0);
      expect(stdout.trimEnd().split('\n')).toHaveLength(1);
    },
  );

  test('a watching mirror waits for a service that is not up yet, and reports that', async (context) => {
    const service = await start(context);
    await service.killService();
    const watching = service.startMirror(...storeOptions('ndjson', service.folder), '--watch', '1s', '--json');
    await watching.printed('"ok":false');
    await service.serve();
    await watching.printed('"ok":true');
    watching.kill('SIGTERM');
    const { code, stdout, stderr } = await watching.ended;
    expect(code).toBe(0);
    expect(stderr).toMatch(/no complete response from .*; retrying in \d+ seconds?/);
    for (const line of stdout.trimEnd().split('\n')) expect(JSON.parse(line)).toHaveProperty('ok');
    expect(readCopy('ndjson', service.folder)).toEqual(await service.served());
  });

  test('a mirror waits for another writer of its SQLite copy, and reports it if that takes too long', async (context) => {
    const service = await start(context);
    const args = storeOptions('sqlite', service.folder);
    await service.startMirror(...args).ended;
    const other = new DatabaseSync(args[1] ?? '');
    other.exec('begin immediate');
    const { code, stderr } = await service.startMirror(...args).ended;
    other.close();
    expect(stderr).toContain('another program keeps it locked for writing');
    expect(code).toBe(1);
    expect((await service.startMirror(...args).ended).code).toBe(0);
  });
});
