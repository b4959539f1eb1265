import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test, type TestContext } from 'vitest';
import { solicitation } from '../../../test/support/publishing.ts';
import { readCopy, STORES, storeOptions } from './support/copies.ts';
import { firstCatalog } from './support/histories.ts';
import { MirroredService } from './support/mirrored-service.ts';

// Tests that must wait for real time to pass. They run concurrently, each with its own service.

/** Time until a deadline: enough to start a service and run two mirrors one after the other on a busy machine. */
const AHEAD_MS = 20_000;

const OPEN = { ...solicitation('sol_1', 2), lead_entity_id: 'le_1' };

/** Takes the test's own context, because concurrent tests cannot use the global `onTestFinished`. */
async function start(
  { onTestFinished }: TestContext,
  { requestsPerMinute = 1_000_000, isKillable = false } = {},
): Promise<MirroredService> {
  const partner = { name: 'acme', everything: true, requestsPerMinute };
  const service = await MirroredService.start(firstCatalog(), partner, { isKillable });
  onTestFinished(() => service.close());
  return service;
}

describe.concurrent('in real time', { timeout: 300_000 }, () => {
  test('a mirror with a low limit waits as long as the service says, and copies everything', async (context) => {
    // The second half of its requests is in the second minute.
    const service = await start(context, { requestsPerMinute: 8 });
    const { code, stderr } = await service.mirror(...storeOptions('sqlite', service.folder));
    expect(code, stderr).toBe(0);
    expect(stderr).toMatch(
      /^(partner-data-mirror: Too many requests\. .*\(request req_\S+\); retrying in [1-6]?\d s\n)+$/,
    );
    const statuses = service.proxy.passed.map(({ status }) => status);
    expect(statuses).toContain(429);
    statuses.forEach((status, index) => {
      if (status === 429) expect(statuses[index + 1]).not.toBe(429);
    });
    const copy = readCopy('sqlite', service.folder);
    expect([copy.contracts.size, copy.solicitations.size, copy.suppliers.size]).toEqual([10, 14, 8]);
  });

  test.for(STORES)(
    'a watching mirror into %s updates is_open at each deadline without a request',
    async (type, context) => {
      const service = await start(context);
      const closeAt = new Date(Date.now() + AHEAD_MS).toISOString();
      await service.publish({ solicitations: [{ ...OPEN, close_at: closeAt }] });
      const watching = service.startMirrorHere([...storeOptions(type, service.folder), '--watch', '1h', '--json']);
      await watching.printed('"ok":true');
      const isOpen = (): unknown => readCopy(type, service.folder).solicitations.get('sol_1')?.['is_open'];
      expect(isOpen()).toBe(true);
      const count = service.proxy.passed.length;
      await sleep(Date.parse(closeAt) - Date.now() + 1);
      // Files are written shortly after the deadline.
      await context.expect.poll(isOpen, { timeout: 10_000 }).toBe(false);
      expect(service.proxy.passed).toHaveLength(count);
      watching.stop();
      const { code, stdout } = await watching.ended;
      expect(code).toBe(0);
      expect(stdout.trimEnd().split('\n')).toHaveLength(1);
    },
  );

  test('a watching mirror waits for a service that is not up yet, and reports that', async (context) => {
    const service = await start(context, { isKillable: true });
    await service.killService();
    const watching = service.startMirror(...storeOptions('ndjson', service.folder), '--watch', '1s', '--json');
    await watching.printed('"ok":false');
    await service.serve();
    await watching.printed('"ok":true');
    watching.kill('SIGTERM');
    const { code, stdout, stderr } = await watching.ended;
    expect(code).toBe(0);
    expect(stderr).toMatch(/no complete response from .*; retrying in \d+ s/);
    for (const line of stdout.trimEnd().split('\n')) expect(JSON.parse(line)).toHaveProperty('ok');
    expect(readCopy('ndjson', service.folder)).toEqual(await service.served());
  });

  test('a mirror waits for another writer of its SQLite copy, and reports it if that takes too long', async (context) => {
    const service = await start(context);
    const args = storeOptions('sqlite', service.folder);
    await service.mirror(...args);
    const other = new DatabaseSync(args[1] ?? '');
    other.exec('begin immediate');
    const { code, stderr } = await service.startMirror(...args).ended;
    other.close();
    expect(stderr).toContain('another program keeps it locked for writing');
    expect(code).toBe(1);
    expect((await service.mirror(...args)).code).toBe(0);
  });
});
