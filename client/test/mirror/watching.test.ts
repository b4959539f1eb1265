import { expect, test } from 'vitest';
import { resumePartner, suspendPartner } from '../../../src/access/partner-admin.ts';
import { storeOptions } from './support/copies.ts';
import type { MirrorHere } from './support/mirror-here.ts';
import { mirroredServiceForEachTest, type MirroredService } from './support/mirrored-service.ts';

const TIME = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`;

const service = mirroredServiceForEachTest();

function watch(settings?: Parameters<MirroredService['startMirrorHere']>[1]): MirrorHere {
  return service.startMirrorHere([...storeOptions('ndjson', service.folder), '--watch', '1s'], settings);
}

/** Resolves once so many syncs have begun from now on. */
async function syncs(count: number): Promise<void> {
  const countNow = (): number => service.targets.filter((target) => target === '/v1/key').length;
  const before = countNow();
  await expect.poll(countNow, { timeout: 20_000 }).toBeGreaterThanOrEqual(before + count);
}

const removeContract = (id: string): Promise<void> => service.publish({ contracts: [{ id, deleted: true }] });

test('a watching mirror prints a line with the time for each sync that changed something, and nothing for others', async () => {
  const first = watch();
  await first.printed('contracts 10 added');
  await syncs(2);
  await removeContract('ctr_1');
  await first.printed('contracts 1 removed');
  first.stop();
  const { code, stdout, stderr } = await first.ended;
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(
    new RegExp(`^${TIME} lead-entities 3 added; .*; contracts 10 added; .*\n${TIME} contracts 1 removed\n$`),
  );
  const second = watch();
  await second.printed('no changes');
  await syncs(2);
  second.stop();
  expect((await second.ended).stdout).toMatch(new RegExp(`^${TIME} no changes\n$`));
});

test('a watching mirror says once that its partner is suspended, and goes on when that ends', async () => {
  const watching = watch({ refusedPauseMs: 0 });
  await watching.printed('contracts 10 added');
  await suspendPartner(service.database, Date.now, 'acme');
  await service.settle();
  await syncs(3);
  await removeContract('ctr_1');
  await resumePartner(service.database, Date.now, 'acme');
  await service.settle();
  await watching.printed('contracts 1 removed');
  await watching.printed('works again');
  watching.stop();
  const { code, stderr } = await watching.ended;
  expect(code).toBe(0);
  const prefix = `${TIME} partner-data-mirror:`;
  expect(stderr).toMatch(
    new RegExp(`^${prefix} the service rejects all requests \\(403\\): .*; retrying in 1 s\n${prefix} works again\n$`),
  );
});

test('a watching mirror tries a rejected key once a minute', async () => {
  const body = '{"error":{"code":"unauthorized","message":"A valid API key is required.","request_id":"req_1"}}';
  const respond = `HTTP/1.1 401 Unauthorized\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`;
  service.intercept(() => ({ respond }));
  const watching = watch();
  await watching.printed('A valid API key is required. (request req_1); retrying in 60 s');
  watching.stop();
  expect((await watching.ended).code).toBe(0);
  expect(service.targets).toEqual(['/v1/key']);
});

test('a watching mirror warns once if the service has not checked its data for longer than --max-age', async () => {
  const HOUR_MS = 3_600_000;
  let aheadMs = HOUR_MS;
  const args = [...storeOptions('ndjson', service.folder), '--watch', '1s', '--max-age', '2h'];
  const watching = service.startMirrorHere(args, { clock: () => Date.now() + aheadMs });
  await watching.printed('contracts 10 added');
  await syncs(2);
  aheadMs = 3 * HOUR_MS;
  await watching.printed('warning: the service last checked its data at ');
  await syncs(2);
  watching.stop();
  const { code, stderr } = await watching.ended;
  expect(code).toBe(0);
  expect(stderr).toMatch(
    new RegExp(`^${TIME} partner-data-mirror: warning: the service last checked its data at \\S+Z; .*\n$`),
  );
});
