import type { MarketFacts } from './facts.ts';
import { MAIN, runPds } from './pds.ts';

/** The API keys of the benchmark's partners. */
export interface Keys {
  /** Keys of two partners that see everything: one waits for the other. Each may send a million requests a minute. */
  everything: string[];
  /** A partner that sees the 3 solicitations of one lead entity. */
  narrow: string;
}

const PARTNERS_OF_EVERYTHING = 2;
const EVERYTHING = '--everything';

/** Creates the benchmark's partners in a database. */
export async function createPartners(databaseUrl: string, facts: MarketFacts, main = MAIN): Promise<Keys> {
  const everything: string[] = [];
  for (let number = 1; number <= PARTNERS_OF_EVERYTHING; number++) {
    everything.push(await createPartner(databaseUrl, `bench-${number}`, [EVERYTHING], main));
  }
  return {
    everything,
    narrow: await createPartner(databaseUrl, 'bench-narrow', ['--lead-entity', facts.smallestLeadEntity], main),
  };
}

/** Creates a partner with the maximum quota. Returns its key. */
export async function createPartner(
  databaseUrl: string,
  name: string,
  grants: readonly string[],
  main = MAIN,
): Promise<string> {
  const [first] = grants;
  await runPds(databaseUrl, ['partner', 'create', name, ...(first === EVERYTHING ? grants : [])], main);
  if (first !== EVERYTHING) await runPds(databaseUrl, ['partner', 'grant', name, ...grants], main);
  await runPds(databaseUrl, ['partner', 'set', name, '--per-minute', '1000000'], main);
  return (await runPds(databaseUrl, ['key', 'issue', name], main)).stdout.trim();
}
