import { expect, test } from 'vitest';
import { grant } from '../../src/access/grant-admin.ts';
import { listKeys, revokeKey } from '../../src/access/key-admin.ts';
import { openForCommands } from '../../src/database/open.ts';
import { publish } from '../../src/publishing/publish.ts';
import { idsOf } from '../support/client.ts';
import { SMALL_CATALOG, solicitation } from '../support/publishing.ts';
import { startService } from '../support/service.ts';
import { timeUntil } from '../support/time-until.ts';

test('during an import, readers see none of it, keys are revoked within a second, and grants succeed', async () => {
  await using service = await startService({
    catalog: SMALL_CATALOG,
    clock: Date.now,
    partners: [{ name: 'unchanged', everything: true }, { name: 'revoked', everything: true }, { name: 'granted' }],
  });
  await using importing = openForCommands(service.databaseConfig);
  const get = (partner: string, path = '/v1/solicitations') => service.get(path, { key: service.partner(partner).key });
  expect((await get('revoked')).status).toBe(200);

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
  expect(await timeUntil(async () => (await get('revoked')).status !== 200)).toBeLessThan(1_000);
  expect((await get('revoked')).status).toBe(401);

  await grant(service.database, Date.now, 'granted', { everything: false, leadEntities: ['le_b'], coops: [] });
  expect(idsOf(await get('unchanged'))).toEqual(['sol_1', 'sol_2']);

  release(undefined);
  const { timestamp } = await imported;
  const { body } = await get('unchanged', '/v1/solicitations/count');
  expect(JSON.parse(body)).toEqual({ total: 603 });
  expect(idsOf(await get('granted'))).toEqual(['sol_2']);
  const { headers } = await get('unchanged');
  expect(Date.parse(String(headers['x-sync-watermark']))).toBe(Date.parse(timestamp ?? '') + 1);
});
