import { randomInt } from 'node:crypto';
import fc from 'fast-check';
import { expect } from 'vitest';
import { openForCommands } from '../../src/database/open.ts';
import { migrate } from '../../src/database/migrations/migrator.ts';
import { startPrimary, startReplica } from '../support/cluster/postgres.ts';
import { Workspace } from '../support/cluster/workspace.ts';
import { testWith } from '../support/installed-programs.ts';
import { History } from './history.ts';
import { historiesBehindReplica, type Step } from './steps.ts';
import { World } from './world.ts';

const test = testWith('postgresql');

const HISTORIES = 8;

const toggle = { type: 'pause or resume the replica' } as const;
const notice = { type: 'notice', process: 1 } as const;
const list = (kind: 'contracts' | 'suppliers'): Step => {
  return { type: 'list', process: 1, of: { kind, filters: {} }, format: 'json' };
};
/** A list from a server that knows the key, and whose replica lacks an import. */
const BEHIND: readonly Step[] = [
  ...[toggle, toggle, notice, notice, list('contracts'), toggle],
  { type: 'import', edits: [], isWhole: true },
  ...[list('suppliers'), toggle],
];

test('with a replica that stops and catches up, responses, syncs and the feed are right', async () => {
  await using opened = new AsyncDisposableStack();
  const workspace = new Workspace();
  opened.defer(() => workspace.close());
  const primary = await startPrimary(workspace);
  const config = { engine: 'postgres', url: primary.url } as const;
  const database = openForCommands(config);
  opened.defer(() => database.close());
  await migrate(database, Date.now);
  const replica = await startReplica(workspace, 'replica', primary);
  const drop = (): Promise<void> => Promise.resolve();
  const settings = { PDS_DATABASE_URL: primary.url };
  const world = await World.start({ config, settings, database, drop, [Symbol.asyncDispose]: drop }, replica);
  opened.defer(() => world.service.close());
  const first = Number(process.env['HISTORIES_SEED'] ?? randomInt(2 ** 31));
  const run = async (steps: readonly Step[]): Promise<void> => {
    const history = await History.begin(world);
    await history.run(steps).catch((error: unknown) => {
      throw new Error(`of HISTORIES_SEED=${first}:\n${fc.stringify(steps)}`, { cause: error });
    });
  };
  // A server that has noticed the last change reads from the replica, once that has caught up and was probed.
  for (let attempt = 0; world.behind === 0 && attempt < 50; attempt += 1) await run(BEHIND);
  expect(world.behind).toBeGreaterThan(0);
  for (let number = 0; number < HISTORIES; number += 1) {
    const seed = (first + Math.imul(number, 0x9e3779b1)) | 0;
    const [steps = []] = fc.sample(historiesBehindReplica, { seed, numRuns: 1, unbiased: true });
    await run(steps);
  }
}, 180_000);
