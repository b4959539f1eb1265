import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { grant } from '../../src/access/grant-admin.ts';
import { listKeys, revokeKey } from '../../src/access/key-admin.ts';
import { openForCommands } from '../../src/database/open.ts';
import { publish } from '../../src/publishing/publish.ts';
import { idsOf } from '../support/client.ts';
import { SMALL_CATALOG, solicitation } from '../support/publishing.ts';
import { startService } from '../support/service.ts';

test('during an import, readers see none of it, keys are revoked within a second, and grants succeed', async () => {
  await using stack = new AsyncDisposableStack();
  const service = await startService({
    catalog: SMALL_CATALOG,
    clock: Date.now,
    partners: [{ name: 'unchanged', everything: true }, { name: 'revoked', everything: true }, { name: 'granted' }],
  });
  stack.defer(() => service.close());
  const importing = openForCommands(service.databaseConfig);
  stack.defer(() => importing.close());
  const ids = async (partner: string): Promise<string[]> =>
    idsOf(await service.get('/v1/solicitations', { key: service.partner(partner).key }));
  const statusOf = async (partner: string): Promise<number> =>
    (await service.get('/v1/coops', { key: service.partner(partner).key })).status;
  expect(await statusOf('revoked')).toBe(200);

  const { promise: released, resolve: release } = Promise.withResolvers<undefined>();
  const { promise: isHalfDone, resolve: halfDone } = Promise.withResolvers<undefined>();
  const line = (number: number): Buffer =>
    Buffer.from(`${JSON.stringify(solicitation(`new_${number}`, 100 + number))}\n`);
  let openings = 0;
  const imported = publish(
    importing,
    [
      {
        kind: 'solicitations',
        name: 'slow',
        size: 0,
        open: async function* () {
          openings += 1;
          for (let number = 0; number < 600; number += 1) yield line(number);
          // More than one batch was read, so part of it is written; the first reading only collects the keys.
          if (openings > 1) {
            halfDone(undefined);
            await released;
          }
          yield line(600);
        },
      },
    ],
    { clock: Date.now },
  );
  await isHalfDone;

  const [key] = await listKeys(service.database, Date.now, 'revoked');
  await revokeKey(service.database, Date.now, key?.id ?? '');
  const startedAtMs = performance.now();
  while ((await statusOf('revoked')) === 200 && performance.now() - startedAtMs < 5_000) await sleep(20);
  expect(performance.now() - startedAtMs).toBeLessThan(1_000);
  expect(await statusOf('revoked')).toBe(401);

  await grant(service.database, Date.now, 'granted', { everything: false, leadEntities: ['le_b'], coops: [] });
  expect(await ids('unchanged')).toEqual(['sol_1', 'sol_2']);

  release(undefined);
  const { timestamp } = await imported;
  const { body } = await service.get('/v1/solicitations/count', { key: service.partner('unchanged').key });
  expect(JSON.parse(body)).toEqual({ total: 603 });
  expect(await ids('granted')).toEqual(['sol_2']);
  const { headers } = await service.get('/v1/solicitations', { key: service.partner('unchanged').key });
  expect(Date.parse(String(headers['x-sync-watermark']))).toBe(Date.parse(timestamp ?? '') + 1);
});
