import { gatherCursors } from '../candidates/cursors.ts';
import type { Question } from '../candidates/question.ts';
import type { RunningService } from '../candidates/service.ts';
import type { BenchContext, Part } from '../measure/context.ts';
import { measureLatency } from '../measure/latency.ts';
import {
  changeQuestions,
  deepQuestions,
  detailQuestions,
  listQuestions,
  searchQuestions,
  wordsByFrequency,
  worstWords,
} from '../measure/questions.ts';

/** Far from the bounds that other parts use on the same servers. */
const BOUND = 20_000_000;

/** Number of warm-up requests, enough for the JIT to compile the code path. */
const WARM_UP = 300;

export const latency: Part = {
  name: 'latency',
  title: 'One request at a time, each another one',
  async run(context) {
    const { facts } = context.market;
    const { samples } = context.settings;
    const all = samples + WARM_UP;
    const deep = deepQuestions(facts).slice(0, all);
    const ids = deep.flatMap((question) => ('after' in question ? question.after : []));
    for (const service of await context.services()) {
      await gatherCursors(service, '/v1/solicitations', ids);
      const { changedSince, keys } = service.database;
      const works: [work: string, questions: readonly Question[], key?: string][] = [
        ['list page, two filters', listQuestions(facts, all, BOUND)],
        ['detail', detailQuestions(facts).slice(-all)],
        ['next page, nine tenths into the table', deep],
        ['changes since a release of 3 in 100', changeQuestions(changedSince, all)],
        ['scope of 3 records', plainQuestions(all), keys.narrow],
      ];
      for (const [work, questions, key] of works) await measureEach(context, service, work, questions, key);
    }
  },
};

export const searchLatency: Part = {
  name: 'search-latency',
  title: 'Searches, one at a time',
  async run(context) {
    const { samples } = context.settings;
    for (const service of await context.services()) {
      const { everything, middle, narrow } = service.database.keys;
      const scopes = { everything: everything[0], '5 lead entities': middle, '3 records': narrow };
      for (const [scope, key] of Object.entries(scopes)) {
        const drawn = searchQuestions(wordsByFrequency(samples + WARM_UP), samples + WARM_UP, 2 * BOUND);
        await measureEach(context, service, `search, words by frequency, scope of ${scope}`, drawn, key);
        const worst = searchQuestions(worstWords(), 10 * worstWords().length, 3 * BOUND);
        await measureEach(context, service, `search, worst words, scope of ${scope}`, worst, key, 0);
      }
    }
  },
};

async function measureEach(
  context: BenchContext,
  service: RunningService,
  work: string,
  questions: readonly Question[],
  key?: string,
  mostWarmUp = WARM_UP,
): Promise<void> {
  // At least half of the questions are measured, even if there are few.
  const warmUp = Math.min(mostWarmUp, Math.floor(questions.length / 2));
  await measureLatency(context, {
    part: partOf(work),
    work,
    service,
    warmUp: questions.slice(0, warmUp),
    questions: questions.slice(warmUp),
    ...(key !== undefined && { key }),
  });
}

function partOf(work: string): string {
  return work.startsWith('search') ? searchLatency.name : latency.name;
}

/** First pages of the unfiltered list, each with a unique bound. */
function plainQuestions(count: number): Question[] {
  return searchQuestions([], count, 4 * BOUND);
}
