import type { Question } from '../candidates/question.ts';
import { bearer, SERVICE_NAMES, startService, type RunningService } from '../candidates/service.ts';
import type { HttpRequest } from '../load/load.ts';
import { askOneAtATime } from '../load/clients.ts';
import { fewRounds, type BenchContext, type Part } from '../measure/context.ts';
import { measureOneAtATime, recordTimes } from '../measure/one-at-a-time.ts';
import {
  countFilters,
  detailQuestions,
  listQuestions,
  newQuestions,
  questionsAfter,
  requestsFor,
  searchQuestions,
  WARM_UP_WORDS,
  wordsByFrequency,
  WORST_WORDS,
} from '../measure/questions.ts';

/** Number of warm-up requests, enough for the JIT to compile the code path. */
const WARM_UP = 300;

export const latency: Part = {
  name: 'latency',
  title: 'One request at a time, each another one',
  async run(context) {
    const { facts } = context.market;
    const count = WARM_UP + fewRounds(context.settings) * context.settings.samples;
    const services = await context.services();
    const last = { skip: Math.floor(0.9 * context.size), step: 1, count };
    const after = (id: string): Question => ({ kind: 'list', filters: {}, after: id });
    const deep = await questionsAfter(context, '/v1/solicitations', last, after);
    const forAll: [work: string, questions: readonly Question[]][] = [
      ['list page, two filters', listQuestions(context, count)],
      ['detail', detailQuestions(facts).slice(-count)],
      ['page nine tenths into the list', deep],
      ['search, words by frequency', searchQuestions(context, wordsByFrequency(count))],
    ];
    for (const candidate of [...services, ...(await context.baselines())]) {
      for (const [work, questions] of forAll) {
        const requests = questions.map((question) => candidate.requestFor(question)).filter((one) => one !== null);
        if (requests.length > 0) await measureRounds(context, { work, candidate, requests });
      }
    }
    for (const candidate of services) {
      const { changedSince, keys } = candidate.database;
      const worst = Array.from({ length: count }, (_, index) => WORST_WORDS[index % WORST_WORDS.length] ?? '');
      const works: [work: string, questions: readonly Question[], key?: string][] = [
        ['search, worst words', searchQuestions(context, worst)],
        ['list page, for a partner of 3 records', newQuestions(context, count, () => ({})), keys.narrow],
        ['first page of 3 in 100 changed', newQuestions(context, count, () => ({ updatedSince: changedSince }))],
      ];
      for (const [work, questions, key = keys.everything[0]] of works) {
        await measureRounds(context, { work, candidate, requests: requestsFor(questions), headers: bearer(key) });
      }
    }
  },
};

/** Sends the first requests as a warm-up, and divides the others into rounds. */
async function measureRounds(context: BenchContext, work: Parameters<typeof measureOneAtATime>[1]): Promise<void> {
  const { candidate, requests, headers = candidate.headers(0) } = work;
  // At least half of the requests are measured, even if there are few.
  const warmUp = Math.min(WARM_UP, Math.floor(requests.length / 2));
  await askOneAtATime({ port: candidate.port, headers, requests: requests.slice(0, warmUp) });
  const rounds = fewRounds(context.settings);
  const share = Math.floor((requests.length - warmUp) / rounds);
  for (let round = 0; round < rounds; round++) {
    const slice = requests.slice(warmUp + round * share, warmUp + (round + 1) * share);
    await measureOneAtATime(context, { ...work, requests: slice });
  }
}

export const AGAIN = 'again';

/** Number of counts of each kind; fewer if `--samples` is lower. */
const COUNTS = 200;

export const counts: Part = {
  name: 'counts',
  title: 'Counts, one at a time, for the first time and again',
  async run(context) {
    const { market, settings, scratch } = context;
    const count = Math.min(COUNTS, settings.samples);
    const filters = countFilters(market);
    const words = [...WORST_WORDS, ...new Set(wordsByFrequency(4 * count, 13))].slice(0, count);
    const filterCounts = (number: number) => newQuestions(context, number, filters, { kind: 'count' });
    const wordCounts = (searched: readonly string[]) =>
      newQuestions(context, searched.length, (index) => ({ q: searched[index] ?? '' }), { kind: 'count' });
    for (let round = 0; round < fewRounds(settings); round++) {
      for (const engine of settings.engines) {
        // A new process, which has read nothing of the index.
        const service = await startService(engine, market.databases[engine], scratch);
        try {
          await measureTwice(context, service, {
            warmUp: requestsFor([...filterCounts(COUNTS), ...wordCounts(WARM_UP_WORDS)]),
            measured: { 'without words': filterCounts(count), 'with words': wordCounts(words) },
          });
        } finally {
          await service.stop();
        }
      }
    }
  },
};

/**
 * Measures counts that are new to the process, then the same counts for another partner with the same access: the
 * partner's own would come from its response cache.
 */
async function measureTwice(
  context: BenchContext,
  service: RunningService,
  { warmUp, measured }: { warmUp: HttpRequest[]; measured: Record<string, readonly Question[]> },
): Promise<void> {
  const ask = (round: number, requests: readonly HttpRequest[]) =>
    askOneAtATime({ port: service.port, headers: service.headers(round), requests });
  for (const partner of [0, 1]) await ask(partner, warmUp);
  for (const [kind, questions] of Object.entries(measured)) {
    for (const [partner, time] of ['first time', AGAIN].entries()) {
      const responses = await ask(partner, requestsFor(questions));
      recordTimes(context, `count ${kind}, ${time}`, SERVICE_NAMES[service.engine], responses);
    }
  }
}
