import type { MarketFacts } from './facts.ts';
import { runPds } from './pds.ts';

/** Keys of the partners that ask. */
export interface Keys {
  /** Of partners that see everything; several, since a quota ends at a million requests a minute. */
  everything: string[];
  /** Sees the 3 solicitations of one lead entity. */
  narrow: string;
  /** Sees a handful of lead entities of middling size. */
  middle: string;
}

const PARTNERS_OF_EVERYTHING = 6;
const EVERYTHING = '--everything';

/** Makes the partners of the bench in a database. */
export async function createPartners(databaseUrl: string, facts: MarketFacts): Promise<Keys> {
  const everything: string[] = [];
  for (let number = 1; number <= PARTNERS_OF_EVERYTHING; number++) {
    everything.push(await createPartner(databaseUrl, `bench-${number}`, [EVERYTHING]));
  }
  const grants = (ids: string[]): string[] => ids.flatMap((id) => ['--lead-entity', id]);
  return {
    everything,
    narrow: await createPartner(databaseUrl, 'bench-narrow', grants([facts.smallestLeadEntity])),
    middle: await createPartner(databaseUrl, 'bench-middle', grants(facts.middleLeadEntities)),
  };
}

/** A partner with the highest quota there is. Returns its key. */
export async function createPartner(databaseUrl: string, name: string, grants: readonly string[]): Promise<string> {
  const [first] = grants;
  await runPds(databaseUrl, ['partner', 'create', name, ...(first === EVERYTHING ? grants : [])]);
  if (first !== EVERYTHING) await runPds(databaseUrl, ['partner', 'grant', name, ...grants]);
  await runPds(databaseUrl, ['partner', 'set', name, '--per-minute', '1000000']);
  return (await runPds(databaseUrl, ['key', 'issue', name])).stdout.trim();
}
