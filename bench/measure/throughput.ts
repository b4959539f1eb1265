import type { RunningCandidate } from '../candidates/candidate.ts';
import type { Question } from '../candidates/question.ts';
import type { HttpRequest } from '../load/load.ts';
import { runLoad } from '../load/run-load.ts';
import { CpuMeter } from '../machine/cpu-meter.ts';
import type { BenchContext } from './context.ts';
import { note } from './progress.ts';
import type { Measurement, Unit } from './results.ts';

export interface Work {
  part: string;
  /** The name of the work in the tables. */
  work: string;
  candidates: readonly RunningCandidate[];
  /** Sent in this order, split evenly across the rounds, none of them twice. */
  questions: readonly Question[];
  /** Instead sends all of them repeatedly in every round. */
  isRepeated?: boolean;
  headers?: (candidate: RunningCandidate, round: number) => Record<string, string>;
}

/** The round number of the warm-up, which uses the first slice of the questions. */
const WARM_UP = -1;

/**
 * If the machine stalls, the service refuses some of the requests queued meanwhile. Refused requests are not counted. A
 * round with a larger share of them is discarded, because refusing is cheap and would distort its figures.
 */
const MAX_REFUSED = 0.01;

interface Figures {
  perSecond: number[];
  serverMicros: number[];
  databaseMicros: number[];
  failures: number;
  requests: number;
}

/**
 * Measures requests per second in interleaved rounds: each round measures every candidate once. The warm-up round is
 * not counted.
 */
export async function measureThroughput(context: BenchContext, work: Work): Promise<void> {
  const { settings, store, market } = context;
  const asked = work.candidates.flatMap((candidate) => {
    const requests = candidate.isFixed ? [{ path: '/page.json' }] : requestsOf(candidate, work.questions);
    return requests.length === 0 ? [] : [{ candidate, requests, figures: emptyFigures() }];
  });
  for (let round = settings.isSmoke ? 0 : WARM_UP; round < settings.rounds; round++) {
    for (const { candidate, requests, figures } of asked) {
      const isRepeated = candidate.isFixed || work.isRepeated === true;
      const slice = isRepeated ? requests : sliceOf(requests, round + 1, settings.rounds + 1);
      await measureRound(context, work, { candidate, requests: slice, isRepeated, round, figures });
    }
  }
  for (const { candidate, figures } of asked) {
    const add = (unit: Unit, values: number[]): void => {
      if (values.length === 0) return;
      const remark = candidate.remark === undefined ? {} : { remark: candidate.remark };
      const { part, work: name } = work;
      const one: Measurement = {
        part,
        work: name,
        size: market.solicitations,
        candidate: candidate.name,
        unit,
        values,
      };
      store.add({ ...one, ...remark });
    };
    if (figures.failures > 0) {
      const reason = `${figures.failures} of ${figures.requests} answers to "${work.work}" were no success`;
      if (settings.isSmoke) throw new Error(`${candidate.name}: ${reason}`);
      store.addGap({ part: work.part, candidate: candidate.name, reason });
    }
    add('requests/s', figures.perSecond);
    add('server CPU µs a request', figures.serverMicros);
    add('database CPU µs a request', figures.databaseMicros);
  }
}

interface Round {
  candidate: RunningCandidate;
  requests: readonly HttpRequest[];
  isRepeated: boolean;
  round: number;
  figures: Figures;
}

async function measureRound(
  { settings, postgres }: BenchContext,
  work: Work,
  { candidate, requests, isRepeated, round, figures }: Round,
): Promise<void> {
  const meter = new CpuMeter({
    serverPid: candidate.process.pid,
    postgresPid: candidate.usesPostgres ? postgres.process.pid : null,
  });
  const result = await runLoad({
    port: candidate.port,
    headers: work.headers?.(candidate, Math.max(0, round)) ?? candidate.headers(Math.max(0, round)),
    requests,
    isRepeated,
    connections: settings.connections,
    seconds: settings.seconds,
  });
  const answered = result.requests - result.failures;
  const cpu = meter.perRequest(answered);
  const isValid = result.failures <= MAX_REFUSED * result.requests;
  figures.failures += isValid ? 0 : result.failures;
  figures.requests += result.requests;
  if (round === WARM_UP || !isValid) return;
  const perSecond = answered / result.seconds;
  figures.perSecond.push(perSecond);
  if (cpu.server !== null) figures.serverMicros.push(cpu.server);
  if (cpu.database !== null) figures.databaseMicros.push(cpu.database);
  note(`${work.work}, ${candidate.name}, round ${round + 1}: ${Math.round(perSecond)} requests/s`);
}

function requestsOf(candidate: RunningCandidate, questions: readonly Question[]): HttpRequest[] {
  const requests = questions.map((question) => candidate.requestFor(question));
  return requests.filter((request) => request !== null);
}

function sliceOf<T>(values: readonly T[], index: number, slices: number): T[] {
  const size = Math.floor(values.length / slices);
  return values.slice(index * size, (index + 1) * size);
}

function emptyFigures(): Figures {
  return { perSecond: [], serverMicros: [], databaseMicros: [], failures: 0, requests: 0 };
}
