import { randomInt } from 'node:crypto';
import fc from 'fast-check';

/** A fuzzing run; the same seed gives the same inputs. */
export interface FuzzRun {
  readonly seed: number;
  readonly runs: number;
}

/**
 * Seeds that every test run repeats. To keep a failing one, append it to its fuzzer's list. Each run also tries a fresh
 * seed, and reports it if it fails.
 */
export const FIXED_SEEDS = {
  http: [1, 20_260_415],
  bytes: [1],
  import: [1, 20_260_415, 884_061_108],
} as const;

/**
 * Plans a fuzzer's runs: its fixed seeds and a fresh one share them. With `FUZZ_RUNS` or `FUZZ_SEED`, there is a single
 * seed: the requested one, or a fresh one.
 *
 * @param cost of one run in requests, by which `FUZZ_RUNS` is divided, since it applies to all fuzzers.
 */
export function fuzzRuns(fuzzer: keyof typeof FIXED_SEEDS, runs: number, cost = 1): FuzzRun[] {
  const { FUZZ_RUNS: more, FUZZ_SEED: requested } = process.env;
  const seed = requested === undefined ? randomInt(2 ** 31) : Number(requested);
  if (more !== undefined || requested !== undefined)
    return [{ seed, runs: more === undefined ? runs : Math.ceil(Number(more) / cost) }];
  const seeds = [...FIXED_SEEDS[fuzzer], seed];
  return seeds.map((each) => ({ seed: each, runs: Math.ceil(runs / seeds.length) }));
}

/** Checks a property on many inputs in sequence; shrinks a failing input, and reports its seed. */
export async function fuzz<T>(
  fuzzer: keyof typeof FIXED_SEEDS,
  { seed, runs }: FuzzRun,
  inputs: fc.Arbitrary<T>,
  check: (input: T) => Promise<void>,
): Promise<void> {
  const details = await fc.check(fc.asyncProperty(inputs, check), { seed, numRuns: runs });
  if (!details.failed) return;
  const reason = details.errorInstance instanceof Error ? details.errorInstance.message : String(details.errorInstance);
  throw new Error(
    `${reason}\n\nfound with the seed ${seed} after ${details.numRuns} of ${runs} runs: add it to FIXED_SEEDS.${fuzzer} in ` +
      `test/fuzz/seeds.ts, and repeat with FUZZ_SEED=${seed}\n${fc.stringify(details.counterexample)}`,
    { cause: details.errorInstance },
  );
}
