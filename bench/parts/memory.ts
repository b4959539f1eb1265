import { setTimeout as delay } from 'node:timers/promises';
import type { Question } from '../candidates/question.ts';
import { startService, type RunningService } from '../candidates/service.ts';
import { runLoad } from '../load/run-load.ts';
import { residentMegabytes } from '../machine/usage.ts';
import type { BenchContext, Part } from '../measure/context.ts';
import { note } from '../measure/progress.ts';
import {
  countQuestions,
  detailQuestions,
  listQuestions,
  newBound,
  searchQuestions,
  wordCounts,
  wordsByFrequency,
  worstWords,
} from '../measure/questions.ts';

const AT_REST_MS = 5_000;

/** Three partners for an hour at the default quota of 600 requests a minute. */
const REQUESTS_OF_AN_HOUR = 3 * 60 * 600;

/** Number of distinct pages of 100 records, enough to fill the caches. */
const LONG_PAGES = 20_000;

/** Number of searches to count, so that the caches used by counts fill up too. */
const COUNTED_WORDS = 500;

const BOUND = 400_000_000;
const MAX_SECONDS = 600;

export const memory: Part = {
  name: 'memory',
  title: 'Memory of a server',
  isLong: true,
  async run(context) {
    const { settings, market } = context;
    for (const engine of settings.engines) {
      const service = await startService(engine, market.databases[engine], { folder: context.scratch });
      try {
        await delay(AT_REST_MS);
        report(context, service, 'memory at rest');
        await ask(context, service, mixedQuestions(context, REQUESTS_OF_AN_HOUR));
        await delay(AT_REST_MS);
        report(context, service, 'memory after an hour of three partners');
        await ask(context, service, wordCounts([...worstWords(), ...wordsByFrequency(COUNTED_WORDS, 17)], BOUND));
        await ask(context, service, longPages(LONG_PAGES));
        report(context, service, 'memory with the caches full');
      } finally {
        await service.stop();
      }
    }
  },
};

async function ask({ settings }: BenchContext, service: RunningService, questions: readonly Question[]): Promise<void> {
  const { everything } = service.database.keys;
  const requests = questions.map((question) => service.requestFor(question)).filter((request) => request !== null);
  // wrk runs for a fixed time, so send the list in pieces until it is exhausted.
  const piece = Math.ceil(requests.length / everything.length);
  for (const [index] of everything.entries()) {
    const asked = requests.slice(index * piece, (index + 1) * piece);
    let done = 0;
    for (let passed = 0; done < asked.length && passed < MAX_SECONDS; passed += settings.seconds) {
      const { requests: answered } = await runLoad({
        port: service.port,
        headers: service.headers(index),
        requests: asked.slice(done),
        isRepeated: false,
        connections: settings.connections,
        seconds: settings.seconds,
      });
      done += Math.max(answered, settings.connections);
    }
  }
}

/** A realistic mix of lists, details, searches and counts. */
function mixedQuestions({ market }: BenchContext, count: number): Question[] {
  const quarter = Math.ceil(count / 4);
  const details = detailQuestions(market.facts);
  const lists = listQuestions(market.facts, quarter, BOUND);
  const searches = searchQuestions(wordsByFrequency(2_000), quarter, BOUND);
  const counts = countQuestions(market.facts, Math.ceil(quarter / 50), BOUND);
  const mixed = Array.from({ length: quarter }, (_, index) => [
    lists[index],
    searches[index],
    details[index % details.length],
    lists[Math.floor(index / 2)],
    index % 50 === 0 ? counts[index / 50] : undefined,
  ]);
  return mixed.flat().filter((question) => question !== undefined);
}

function longPages(count: number): Question[] {
  return Array.from({ length: count }, (_, index) => ({
    kind: 'list',
    limit: 100,
    filters: { closingAfter: newBound(BOUND + 50_000_000 + index) },
  }));
}

function report({ store, market }: BenchContext, service: RunningService, work: string): void {
  const megabytes = residentMegabytes(service.process.pid) ?? NaN;
  store.add({
    ...{ part: 'memory', work, size: market.solicitations, candidate: service.name },
    ...{ unit: 'MB', values: [megabytes] },
  });
  note(`${work}, ${service.name}: ${Math.round(megabytes)} MB`);
}
