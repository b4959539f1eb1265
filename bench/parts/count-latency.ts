import { addressOf, type Question } from '../candidates/question.ts';
import { SERVICE_NAMES } from '../candidates/service.ts';
import type { HttpRequest } from '../load/load.ts';
import type { TimedResponse } from '../load/one-at-a-time.ts';
import type { Engine } from '../market/market.ts';
import { measureCold, reportCold } from '../measure/cold.ts';
import type { BenchContext, Part } from '../measure/context.ts';
import { filterCounts, warmUpWords, wordCounts, wordsByFrequency, worstWords } from '../measure/questions.ts';

/** Number of counts of each kind; fewer if `--samples` is lower. */
const COUNTS = 200;

const WARM_UP_BOUND = 8_000_000;

export const countLatency: Part = {
  name: 'count-latency',
  title: 'Counts, one at a time, for the first time and again',
  async run(context) {
    const { market, settings } = context;
    const count = Math.min(COUNTS, settings.samples);
    const words = [...new Set(wordsByFrequency(4 * count, 13))].slice(0, count);
    const worst = settings.isSmoke ? worstWords().slice(0, 2) : worstWords();
    for (const engine of settings.engines) {
      const filters = await measureTwice(context, engine, filterCounts(market.facts, count));
      report(context, engine, 'without words', filters);
      const groups = [...groupsWithoutRepeats(worst), words].map((group) => wordCounts(group));
      const all: TwoTimes = { first: [], again: [] };
      for (const group of groups) {
        const { first, again } = await measureTwice(context, engine, group);
        all.first.push(...first);
        all.again.push(...again);
      }
      report(context, engine, 'with words', all);
    }
  },
};

/** Groups searches so that no word repeats within a group. New processes count each group, so every word is new. */
function groupsWithoutRepeats(searches: readonly string[]): string[][] {
  const groups: string[][] = [];
  for (const search of searches) {
    const words = search.split(' ');
    const group = groups.find((one) => !one.some((other) => other.split(' ').some((word) => words.includes(word))));
    if (group === undefined) groups.push([search]);
    else group.push(search);
  }
  return groups;
}

interface TwoTimes {
  first: TimedResponse[];
  again: TimedResponse[];
}

/**
 * Measures counts that are new to the process, then the same counts for another partner with the same access: the
 * partner's own would come from its response cache.
 */
async function measureTwice(context: BenchContext, engine: Engine, questions: readonly Question[]): Promise<TwoTimes> {
  const database = context.market.databases[engine];
  const [key = '', otherKey = ''] = database.keys.everything;
  const warmUp = requestsOf([
    ...filterCounts(context.market.facts, COUNTS, WARM_UP_BOUND),
    ...wordCounts([...warmUpWords(), ...warmUpWords().toReversed()], WARM_UP_BOUND),
  ]);
  const requests = requestsOf(questions);
  const [first = [], again = []] = await measureCold(context, {
    engine,
    database,
    warmUp: [
      { key, requests: warmUp },
      { key: otherKey, requests: warmUp },
    ],
    measured: [
      { key, requests },
      { key: otherKey, requests },
    ],
  });
  return { first, again };
}

function requestsOf(questions: readonly Question[]): HttpRequest[] {
  return questions.map((question) => ({ path: addressOf(question, undefined) }));
}

function report(context: BenchContext, engine: Engine, kind: string, { first, again }: TwoTimes): void {
  const base = { part: countLatency.name, size: context.size, candidate: SERVICE_NAMES[engine] };
  reportCold(context, { ...base, work: `count ${kind}, first time`, measure: 'milliseconds' }, first);
  reportCold(context, { ...base, work: `count ${kind}, again`, measure: 'milliseconds' }, again);
}
