import { randomInt } from 'node:crypto';
import fc from 'fast-check';
import { inject, test } from 'vitest';
import { recordNight } from '../../bench/measure/nights.ts';
import { History } from './history.ts';
import { histories } from './steps.ts';
import { World } from './world.ts';

/*
 * Random histories of imports, grants and requests to several processes that remember different things, compared with the
 * model, which shares nothing with the service. `HISTORIES_MINUTES` runs them for this long, `HISTORIES_SEED` from this seed.
 */

const { HISTORIES_MINUTES: minutes, HISTORIES_SEED: requested } = process.env;

const BY_DAY = 20;

/** Releases and partners add up, so a new world begins after this many. */
const HISTORIES_PER_WORLD = 20;

test(
  'whatever processes respond, each response is of one state, and syncs and the feed end with exactly what is visible',
  async () => {
    const first = requested === undefined ? randomInt(2 ** 31) : Number(requested);
    // Seeds that are far apart: of neighbors, the first values are alike.
    const seedOf = (number: number): number => (first + Math.imul(number, 0x9e3779b1)) | 0;
    const endMs = Date.now() + Number(minutes ?? 0) * 60_000;
    const engine = inject('engine');
    const counts = { histories: 0, steps: 0, syncs: 0 };
    let world: World | null = null;
    try {
      while (minutes === undefined ? counts.histories < BY_DAY : Date.now() < endMs) {
        const number = counts.histories % HISTORIES_PER_WORLD;
        if (number === 0) {
          await world?.service.close();
          world = null;
        }
        world ??= await World.start();
        const seed = seedOf(counts.histories);
        const [steps = []] = fc.sample(histories, { seed, numRuns: 1, unbiased: true });
        const history = await History.begin(world);
        await history.run(steps).catch((error: unknown) => {
          const command = `HISTORIES_SEED=${seedOf(counts.histories - number)} npx vitest run test/sync/histories --project ${engine}`;
          const message = `history ${number + 1} of those that "${command}" repeats, of the seed ${seed}`;
          throw new Error(`${message}:\n${fc.stringify(steps)}`, { cause: error });
        });
        counts.histories += 1;
        counts.steps += steps.length;
        counts.syncs += history.syncs;
      }
    } finally {
      await world?.service.close();
    }
    if (minutes !== undefined) recordNight({ engine, seed: first, ...counts });
  },
  Number(minutes ?? 0) * 60_000 + 180_000,
);
