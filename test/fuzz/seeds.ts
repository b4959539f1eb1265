import { randomInt } from 'node:crypto';
import fc from 'fast-check';

/** A run of a fuzzer: the same seed makes the same inputs. */
export interface FuzzRun {
  readonly seed: number;
  readonly runs: number;
}

/**
 * Seeds that every run of the tests repeats. To keep one that failed: put it at the end of the
 * list of its fuzzer. Each run tries a fresh one besides, and names it where it fails.
 */
export const KEPT_SEEDS = {
  http: [1, 20_260_415],
  bytes: [1],
  import: [1, 20_260_415],
} as const;

/**
 * What a fuzzer has to do: its kept seeds and a fresh one share the runs. `FUZZ_RUNS` asks for
 * more, all with one fresh seed; `FUZZ_SEED` for that seed in place of a fresh one.
 *
 * @param cost of one run, where a request is 1: `FUZZ_RUNS` is shared by all fuzzers.
 */
export function fuzzRuns(fuzzer: keyof typeof KEPT_SEEDS, runs: number, cost = 1): FuzzRun[] {
  const { FUZZ_RUNS: more, FUZZ_SEED: given } = process.env;
  const seed = given === undefined ? randomInt(2 ** 31) : Number(given);
  if (more !== undefined || given !== undefined)
    return [{ seed, runs: more === undefined ? runs : Math.ceil(Number(more) / cost) }];
  const seeds = [...KEPT_SEEDS[fuzzer], seed];
  return seeds.map((each) => ({ seed: each, runs: Math.ceil(runs / seeds.length) }));
}

/** Checks a property on many inputs, one after the other; what fails is made small, and its seed named. */
export async function fuzz<T>(
  fuzzer: keyof typeof KEPT_SEEDS,
  { seed, runs }: FuzzRun,
  inputs: fc.Arbitrary<T>,
  check: (input: T) => Promise<void>,
): Promise<void> {
  const details = await fc.check(fc.asyncProperty(inputs, check), { seed, numRuns: runs });
  if (!details.failed) return;
  const reason = details.errorInstance instanceof Error ? details.errorInstance.message : String(details.errorInstance);
  throw new Error(
    `${reason}\n\nfound with the seed ${seed} after ${details.numRuns} of ${runs} runs: add it to KEPT_SEEDS.${fuzzer} in ` +
      `test/fuzz/seeds.ts, and repeat with FUZZ_SEED=${seed}\n${fc.stringify(details.counterexample)}`,
    { cause: details.errorInstance },
  );
}
