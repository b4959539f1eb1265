import type { RunningCandidate } from '../candidates/candidate.ts';
import type { Question } from '../candidates/question.ts';
import { runLoad, type HttpRequest } from '../load/load.ts';
import { startCpuMeter } from '../machine/usage.ts';
import { readIntoMemory } from '../market/databases.ts';
import type { BenchContext } from './context.ts';
import { note } from './progress.ts';

export interface Work {
  /** The name of the work in the tables. */
  work: string;
  candidates: readonly RunningCandidate[];
  /** Sent in this order, split evenly across the rounds, none of them twice. */
  questions: readonly Question[];
  /** Instead sends all of them repeatedly in every round. */
  isRepeated?: boolean;
  headers?: (candidate: RunningCandidate, round: number) => Record<string, string>;
}

/**
 * If the machine stalls, the service refuses some of the requests queued meanwhile. Refused requests are not counted. A
 * round with a larger share of them is discarded, because refusing is cheap and would distort its figures.
 */
const MAX_REFUSED = 0.01;

/**
 * Measures requests per second in interleaved rounds: each round measures every candidate once and begins with another,
 * so that none always has the same place. The first one, a warm-up, is not counted.
 */
export async function measureThroughput(context: BenchContext, work: Work): Promise<void> {
  const { settings, postgres, record, market } = context;
  const databases = work.candidates.map((candidate) => candidate.database?.url ?? market.plainUrl);
  for (const url of new Set(databases)) await readIntoMemory(context, url);
  const { rounds, isSmoke, connections, seconds } = settings;
  const { isRepeated = false } = work;
  const headersOf = work.headers ?? ((candidate: RunningCandidate, round: number) => candidate.headers(round));
  const asked = work.candidates
    .map((candidate) => ({ candidate, all: requestsTo(candidate, work.questions) }))
    .filter(({ all }) => all.length > 0);
  for (let round = isSmoke ? 1 : 0; round <= rounds; round++) {
    const first = round % asked.length;
    for (const { candidate, all } of [...asked.slice(first), ...asked.slice(0, first)]) {
      const share = Math.floor(all.length / (rounds + 1));
      const requests = isRepeated ? all : all.slice(round * share, (round + 1) * share);
      const cpuSince = startCpuMeter(candidate.pid, candidate.usesPostgres ? postgres.process.pid : null);
      const load = {
        port: candidate.port,
        headers: headersOf(candidate, Math.max(0, round - 1)),
        requests,
        isRepeated,
      };
      const result = await runLoad({ ...load, connections, seconds });
      const { server, database } = cpuSince();
      const answered = result.requests - result.failures;
      if (result.failures > MAX_REFUSED * result.requests) {
        const reason = `${result.failures} of ${result.requests} responses to "${work.work}" were no success`;
        if (round > 0) record.problem(candidate.name, reason);
        else note(`${candidate.name}: ${reason}, in the warm-up`);
      } else if (round > 0) {
        const micros = (cpuSeconds: number): number => (cpuSeconds / answered) * 1e6;
        record.add(work.work, candidate.name, {
          'requests/s': answered / result.seconds,
          'server CPU µs': micros(server),
          'database CPU µs': micros(database),
          'CPU µs': micros(server + database),
        });
      }
    }
  }
}

/** The requests for those questions that the candidate supports. */
export function requestsTo(candidate: RunningCandidate, questions: readonly Question[]): HttpRequest[] {
  return questions.map((question) => candidate.requestFor(question)).filter((request) => request !== null);
}
