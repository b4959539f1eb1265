import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { RunningCandidate } from '../candidates/candidate.ts';
import type { Question } from '../candidates/question.ts';
import { startService, type RunningService } from '../candidates/service.ts';
import { runLoad } from '../load/load.ts';
import { residentMegabytes } from '../machine/usage.ts';
import type { BenchContext, Part } from '../measure/context.ts';
import { listQuestions, newQuestions, wordsByFrequency, WORST_WORDS } from '../measure/questions.ts';

const WARM_UP_PAGES = 3_000;
const AT_REST_MS = 5_000;

/** Number of distinct pages of 100 records, enough to fill the caches. */
const LONG_PAGES = 20_000;
/** Number of searches to count, so that the caches used by counts fill up too. */
const COUNTED_WORDS = 500;
/** A smoke run makes one in this many of the requests. */
const SMOKE_SHARE = 100;

const SLOW_READERS = 4;
const SLOW_READERS_MS = 20_000;
const SLOW_BYTES_PER_SECOND = 4_096;

export const AFTER_PAGES = 'at rest, after some thousand list pages';

export const memory: Part = {
  name: 'memory',
  title: 'Memory of a server',
  async run(context) {
    const { settings, market, scratch } = context;
    const share = settings.isSmoke ? SMOKE_SHARE : 1;
    const measure = (work: string, { pid, name }: RunningCandidate): void => {
      context.record.add(work, name, { MB: residentMegabytes(pid) });
    };
    const measureAtRest = async (candidate: RunningCandidate): Promise<void> => {
      await ask(context, candidate, listQuestions(context, WARM_UP_PAGES / share));
      await delay(AT_REST_MS / share);
      measure(AFTER_PAGES, candidate);
    };
    await context.stopServers();
    for (const engine of settings.engines) {
      const service = await startService(engine, market.databases[engine], scratch);
      try {
        await measureAtRest(service);
        const readers = await Promise.all(
          Array.from({ length: SLOW_READERS }, (_, index) => readSlowly(service, index)),
        );
        await delay(SLOW_READERS_MS / share);
        measure(`with ${SLOW_READERS} streams to slow readers`, service);
        for (const stop of readers) stop();
        await ask(context, service, fillingQuestions(context, share));
        measure('with the caches full', service);
      } finally {
        await service.stop();
      }
    }
    for (const baseline of await context.baselines()) await measureAtRest(baseline);
  },
};

/** Sends each question once. */
async function ask({ settings }: BenchContext, candidate: RunningCandidate, questions: readonly Question[]) {
  const requests = questions.map((question) => candidate.requestFor(question)).filter((request) => request !== null);
  const { connections, seconds } = settings;
  // wrk runs for a fixed time, so the list is sent in pieces; by several partners, because of the maximum quota.
  for (let [done, round] = [0, 0]; done < requests.length; round++) {
    const load = { port: candidate.port, headers: candidate.headers(round), isRepeated: false, connections, seconds };
    done += Math.max((await runLoad({ ...load, requests: requests.slice(done) })).requests, connections);
  }
}

/** Begins to read a stream at some KB a second, each by another partner. Returns the function that ends it. */
async function readSlowly({ port, headers }: RunningService, partner: number): Promise<() => void> {
  const path = '/v1/solicitations?format=ndjson';
  const sent = request({ port, host: '127.0.0.1', path, headers: headers(partner), agent: false }).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  if (response.statusCode !== 200) throw new Error(`${path}: status ${response.statusCode}`);
  response.on('error', () => undefined);
  const timer = setInterval(() => response.read(SLOW_BYTES_PER_SECOND) as unknown, 1_000);
  return () => {
    clearInterval(timer);
    response.destroy();
  };
}

/** Long pages and counts of many words. */
function fillingQuestions(context: BenchContext, share: number): Question[] {
  const words = [...WORST_WORDS, ...wordsByFrequency(COUNTED_WORDS / share, 17)];
  return [
    ...newQuestions(context, words.length, (index) => ({ q: words[index] ?? '' }), { kind: 'count' }),
    ...newQuestions(context, LONG_PAGES / share, () => ({}), { kind: 'list', limit: 100 }),
  ];
}
