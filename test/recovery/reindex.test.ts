import { sql } from 'kysely';
import { beforeEach, describe, expect, test } from 'vitest';
import { openForCommands } from '../../src/database/open.ts';
import { rebuildIndex } from '../../src/index/write/rebuild-index.ts';
import { BLOCK_SIZE } from '../../src/index/position-set.ts';
import { verifySample } from '../../src/checks/verify-index.ts';
import { reindex } from '../../src/recovery/recover.ts';
import { runCheck } from '../commands/check-contract.ts';
import { callPds } from '../commands/call-pds.ts';
import { runPdsSignalled } from '../commands/run-pds.ts';
import { idsOf, nextCursorOf } from '../support/client.ts';
import { createTestDatabase, databaseForEachTest } from '../support/database.ts';
import { interrupted, Interruption } from '../support/process/interruption.ts';
import { publishLines, solicitation } from '../support/publishing.ts';
import { startService } from '../support/service.ts';
import { changeStored } from '../support/stored-catalog.ts';
import { BLOCKS, CATALOG, contentsOf, described, execute, faultsOf, numbered, setPosition } from './indexed-catalog.ts';

describe('a sound index', () => {
  const made = databaseForEachTest();
  beforeEach(async () => {
    await publishLines(made.database, CATALOG, BLOCKS);
    // Changes, removals and insertions keep the index as consistent as a first import does.
    await publishLines(
      made.database,
      {
        solicitations: [
          ...CATALOG.solicitations.slice(5).map((record) => ({ ...record, title: 'Tunnel' })),
          ...numbered('sol').map((id, index) => solicitation(`${id}_a`, index + 100)),
        ],
      },
      { ...BLOCKS, replace: true, allowRemovals: true },
    );
  });

  test('passes the full and the sampled check, and is the same after a rebuild', async () => {
    const { database } = made;
    const before = await contentsOf(database);
    expect(await faultsOf(database)).toEqual([]);
    expect(described(await verifySample(database))).toEqual([]);
    const { kinds } = await reindex(database, { clock: Date.now });
    expect(kinds.map(({ records, isPlacedAgain }) => [records, isPlacedAgain])).toEqual([
      [30, false],
      [30, false],
      [55, false],
    ]);
    expect(await contentsOf(database)).toBe(before);
  });

  test('is sound after records got new positions, and assigning them again changes nothing', async () => {
    const { database } = made;
    const progress: [number, number][] = [];
    const placeAgain = (): Promise<unknown> =>
      changeStored(database, async (stored) => {
        await sql`delete from catalog.index_blocks`.execute(stored.kysely);
        await rebuildIndex(stored, 'a token', ({ done, total }) => progress.push([done, total]));
      });
    await placeAgain();
    const before = await contentsOf(database);
    expect(await faultsOf(database)).toEqual([]);
    await placeAgain();
    expect(progress.at(-1)).toEqual([115, 115]);
    expect(await contentsOf(database)).toBe(before);
    await publishLines(database, { solicitations: [solicitation('sol_100', 500), solicitation('a', 501)] }, BLOCKS);
    expect(await faultsOf(database)).toEqual([]);
  });

  test('is left unchanged if a stored document cannot be read during a rebuild', async () => {
    const { database } = made;
    const many = Array.from({ length: 5_000 }, (_, index) => ({
      ...solicitation(`many_${index}`, index + 1_000),
      description: 'Words. '.repeat(200),
    }));
    await publishLines(database, { solicitations: many });
    const before = await contentsOf(database);
    await execute(database, `update catalog.solicitations set document = '{' where id = 'many_1000'`);
    await expect(reindex(database, { clock: Date.now })).rejects.toThrow(SyntaxError);
    expect(await contentsOf(database)).toBe(before);
  });

  test('is checked on one snapshot, so a concurrent change is no false alarm', async () => {
    await using other = openForCommands(made.config);
    let isDamaged = false;
    const damage = async (): Promise<void> => {
      if (isDamaged) return;
      isDamaged = true;
      await execute(made.database, 'delete from catalog.solicitations_index');
    };
    const watched = interrupted(other, new Interruption(() => undefined, damage));
    expect(await faultsOf(watched)).toEqual([]);
    expect(isDamaged).toBe(true);
    expect(await faultsOf(other)).not.toEqual([]);
  });

  test('of an empty database passes and can be rebuilt', async () => {
    await using empty = await createTestDatabase();
    expect(await faultsOf(empty.database)).toEqual([]);
    expect(described(await verifySample(empty.database))).toEqual([]);
    await reindex(empty.database, { clock: Date.now });
    expect(await faultsOf(empty.database)).toEqual([]);
  });
});

describe('commands', () => {
  const made = databaseForEachTest();
  beforeEach(() => publishLines(made.database, CATALOG, BLOCKS));

  const actions = async (): Promise<{ action: string; details: string }[]> =>
    made.database.kysely.selectFrom('access.audit').select(['action', 'details']).orderBy('id').execute();

  test('pds check fails on a damaged index, shows terms safely, and pds reindex repairs and records it', async () => {
    await execute(made.database, 'delete from catalog.solicitations_index');
    await changeStored(made.database, ({ kysely }) =>
      sql`insert into catalog.contracts_index (block, term, bits)
        values (0, ${'\u001b[2Jzebra\u202e'}, ${Buffer.from([0, 0])})`.execute(kysely),
    );
    const sampled = await runCheck({ settings: made.settings });
    expect(sampled.troubles.join('\n')).toMatch(
      /^fail\|index: the index of solicitations has \d+ missing terms \(first: "/m,
    );
    const { code, stdout } = await callPds(['check', '--full'], made.settings);
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /^FAIL {2}index: the index of contracts has 1 superfluous term \("\\u001b\[2Jzebra\\u202e" in block 0\)$/m,
    );
    expect(stdout).toMatch(/→ Run "pds reindex"/);

    const { code: rebuilt, stderr } = await callPds(['reindex'], made.settings);
    expect(rebuilt).toBe(0);
    expect(stderr).toMatch(
      /^Rebuilt the index of 30 suppliers, 30 contracts, 30 solicitations at .*\. No record changed\.$/m,
    );
    expect((await callPds(['check', '--full'], made.settings)).stdout).toMatch(
      /^ok {4}index: all of it matches .*90 records/m,
    );
    const recorded = (await actions()).filter(({ action }) => action === 'reindex');
    expect(recorded.map(({ details }) => JSON.parse(details) as object)).toMatchObject([
      { records: 90, placed_again: [] },
    ]);
  });

  test('an interrupted pds reindex changes nothing', async () => {
    await setPosition(made.database, 'sol_20', 9 * BLOCK_SIZE);
    const before = [await contentsOf(made.database), await actions()];
    const interruption = { signal: 'SIGINT', statement: 'delete from "catalog"."solicitations_index"' } as const;
    const { code, stderr } = await runPdsSignalled(['reindex'], made.settings, interruption);
    expect({ code, stderr }).toMatchObject({ code: 130, stderr: 'Interrupted; nothing was changed.\n' });
    expect([await contentsOf(made.database), await actions()]).toEqual(before);
  });

  test('an interrupted pds check --full reports that it did not finish', async () => {
    const interruption = { signal: 'SIGTERM', statement: 'from catalog.index_blocks' } as const;
    const { code, stderr } = await runPdsSignalled(['check', '--full'], made.settings, interruption);
    expect({ code, stderr }).toMatchObject({ code: 143, stderr: expect.stringContaining('Interrupted: ') as string });
  });
});

test('a server shows every record within a second of a reindex, and cursors and watermarks stay valid', async () => {
  const partners = [{ name: 'all', everything: true }];
  await using service = await startService({ catalog: CATALOG, clock: Date.now, partners });
  const { database } = service;
  const { key } = service.partner('all');
  const visible = CATALOG.solicitations.filter(({ status }) => status !== 'draft').map(({ id }) => id);
  const list = async (query = 'limit=100') => {
    const response = await service.get(`/v1/solicitations?${query}`, { key });
    expect(response.status, response.body).toBe(200);
    const watermark = String(response.headers['x-sync-watermark']);
    return { ids: idsOf(response), next: nextCursorOf(response), watermark };
  };
  // Without a checksum, as version 1.2 wrote it, the wrong set is served.
  await changeStored(database, ({ kysely }) =>
    sql`update catalog.solicitations_index set checksum = null,
      bits = ${Buffer.from(Uint16Array.of(1, 5, 9).buffer)} where term = '@all'`.execute(kysely),
  );
  await setPosition(database, 'sol_35', 9 * BLOCK_SIZE);
  const damaged = await list();
  expect(damaged.ids).toEqual(['sol_11', 'sol_14', 'sol_17']);
  const { watermark } = await list('updated_since=1970-01-01T00:00:00.000Z');
  const { next } = await list('limit=2');

  const progress = { isDone: false };
  const rebuilt = reindex(database, { clock: Date.now }).finally(() => (progress.isDone = true));
  while (!progress.isDone) {
    const { ids } = await list();
    expect([damaged.ids, visible]).toContainEqual(ids);
  }
  await rebuilt;
  await expect.poll(async () => (await list()).ids, { timeout: 1_000, interval: 20 }).toEqual(visible);
  expect((await list(`limit=100&cursor=${next}`)).ids).toEqual(visible.slice(visible.indexOf('sol_15')));
  expect((await list(`updated_since=${watermark}`)).ids).toEqual([]);
  expect(await faultsOf(database)).toEqual([]);
});
