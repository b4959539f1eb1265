import fc from 'fast-check';
import { inject, test } from 'vitest';
import { makePartner } from '../support/partners.ts';
import { numberOfRuns } from '../support/runs.ts';
import { histories, type Step } from './histories.ts';
import { History } from './history.ts';
import { clock, World } from './world.ts';

const HISTORIES = numberOfRuns({ usually: 25, nightly: 250 });
/** The catalog grows with each history, so a new one begins after this many. */
const HISTORIES_PER_DATABASE = 25;

test('whatever processes send the pages of a sync, each is of one state, and it ends with all that is visible', async () => {
  let world: World | null = null;
  let count = 0;
  const run = async (steps: readonly Step[]): Promise<void> => {
    if (count % HISTORIES_PER_DATABASE === 0) {
      await world?.service.close();
      world = null;
    }
    world ??= await World.start();
    const name = `partner-${(count += 1)}`;
    const partner = await makePartner(world.service.database, clock, { name, leadEntities: ['le_a'] });
    await new History(world, partner).run(steps);
  };
  const seed = inject('isNightly') ? 20_260_602 : 20_260_601;
  try {
    await fc.assert(fc.asyncProperty(histories, run), { seed, numRuns: HISTORIES });
  } finally {
    await (world as World | null)?.service.close();
  }
}, 600_000);
