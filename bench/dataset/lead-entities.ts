import { STATES } from '../../src/us-states.ts';
import type { Random } from './random.ts';
import { zipfShares } from './zipf.ts';

/** An issuer, with its share of the market. */
export interface LeadEntity {
  id: string;
  name: string;
  /** The prefix of its solicitations' ids, which are therefore adjacent in id order. */
  code: string;
  /** 0 for the lead entity with the most solicitations. */
  rank: number;
  solicitations: number;
}

const SMALLEST = 3;
const KINDS = ['City of', 'County of', 'School District of', 'Port of', 'University of', 'Transit Authority of'];
const PLACES = (
  'Ashford Bellmont Cedarville Dunmore Eastlake Fairhaven Glenwood Harborview Ironton Jasper Kingsley Lakewood ' +
  'Milford Northgate Oakdale Pinecrest Quincy Riverton Springdale Thornbury Unionville Vernon Westbrook Yarmouth'
).split(' ');

/**
 * Generates issuers sorted by code. A few have very many solicitations, many have few, and one has exactly 3.
 */
export function makeLeadEntities(random: Random, count: number, solicitations: number): LeadEntity[] {
  const states = [...STATES].sort();
  const codes = Array.from({ length: count }, (_, index) => {
    const state = states[Math.floor((index * states.length) / count)] ?? 'TX';
    return `${state}${String(100 + index * 3).padStart(4, '0')}`;
  }).sort();
  const counts = shareOut(solicitations, count);
  const ranks = random.shuffle(Array.from({ length: count }, (_, rank) => rank));
  return codes.map((code, index) => {
    const rank = ranks[index] ?? 0;
    const place = `${random.pick(KINDS)} ${random.pick(PLACES)} ${index + 1}`;
    const name = `${place}, ${code.slice(0, 2)}`;
    return { id: `le_${code.toLowerCase()}`, name, code, rank, solicitations: counts[rank] ?? 0 };
  });
}

/** Distributes a total by rank. The last rank gets 3, the first also gets the remainder. */
function shareOut(total: number, ranks: number): number[] {
  const counts = zipfShares(ranks, 1.1).map((share) => Math.floor(share * total));
  counts[ranks - 1] = Math.min(SMALLEST, total);
  const sum = counts.reduce((one, other) => one + other, 0);
  counts[0] = (counts[0] ?? 0) + total - sum;
  return counts;
}
