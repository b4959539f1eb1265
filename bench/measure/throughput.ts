import type { RunningCandidate } from '../candidates/candidate.ts';
import type { Question } from '../candidates/question.ts';
import { runLoad, type HttpRequest } from '../load/load.ts';
import { CpuMeter } from '../machine/cpu-meter.ts';
import type { BenchContext } from './context.ts';
import { note } from './progress.ts';
import type { Measurement, Unit } from './results.ts';

export interface Work {
  part: string;
  /** What is done, as the tables name it. */
  work: string;
  candidates: readonly RunningCandidate[];
  /** Asked in this order, none of them twice, shared out among the rounds. */
  questions: readonly Question[];
  /** All of them are asked over and over in every round. */
  isRepeated?: boolean;
  headers?: (candidate: RunningCandidate, round: number) => Record<string, string>;
}

/** Warm-up and rounds: what each candidate asks stands in one slice of the questions for each. */
const WARM_UP = -1;

/**
 * A pause of the machine makes the service refuse some of the requests that waited for it. They do not count; a round in
 * which more than this part was refused says nothing, because to refuse is quick.
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
 * Measures requests a second in interleaved rounds: every candidate once, then every candidate
 * again. A warm-up round before is not counted.
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
