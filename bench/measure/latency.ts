import type { Question } from '../candidates/question.ts';
import type { RunningService } from '../candidates/service.ts';
import { askOneAtATime, isFailure } from '../load/one-at-a-time.ts';
import { CpuMeter } from '../machine/cpu-meter.ts';
import type { BenchContext } from './context.ts';
import { note } from './progress.ts';
import { median, quantile } from './statistics.ts';

export interface LatencyWork {
  part: string;
  work: string;
  service: RunningService;
  questions: readonly Question[];
  /** Replaces the key of a partner that sees everything. */
  key?: string;
  /** Sent first and not counted. Must not overlap with `questions`. */
  warmUp?: readonly Question[];
}

/** Measures response times of distinct requests, sent one at a time. */
export async function measureLatency(context: BenchContext, work: LatencyWork): Promise<void> {
  const { service, part } = work;
  const headers = work.key === undefined ? service.headers(0) : { Authorization: `Bearer ${work.key}` };
  const ask = (questions: readonly Question[]) =>
    askOneAtATime({
      port: service.port,
      headers,
      requests: questions.map((question) => service.requestFor(question)).filter((request) => request !== null),
    });
  if (work.warmUp !== undefined && work.warmUp.length > 0) await ask(work.warmUp);
  const meter = new CpuMeter({
    serverPid: service.process.pid,
    postgresPid: service.usesPostgres ? context.postgres.process.pid : null,
  });
  const responses = await ask(work.questions);
  const cpu = meter.perRequest(responses.length);
  const milliseconds = responses.map((response) => response.milliseconds);
  const failures = responses.filter(isFailure).length;
  if (failures > 0) {
    const reason = `${failures} of ${milliseconds.length} answers to "${work.work}" were no success`;
    if (context.settings.isSmoke) throw new Error(`${service.name}: ${reason}`);
    context.store.addGap({ part, candidate: service.name, reason });
  }
  const base = { part, work: work.work, size: context.market.solicitations, candidate: service.name };
  context.store.add({ ...base, unit: 'p50 ms', values: [median(milliseconds)] });
  context.store.add({ ...base, unit: 'p99 ms', values: [quantile(milliseconds, 0.99)] });
  context.store.add({ ...base, unit: 'most ms', values: [Math.max(...milliseconds)] });
  if (cpu.server !== null) context.store.add({ ...base, unit: 'server CPU µs a request', values: [cpu.server] });
  if (cpu.database !== null) context.store.add({ ...base, unit: 'database CPU µs a request', values: [cpu.database] });
  note(
    `${work.work}, ${service.name}: p50 ${median(milliseconds).toFixed(2)} ms, ` +
      `p99 ${quantile(milliseconds, 0.99).toFixed(2)} ms, most ${Math.max(...milliseconds).toFixed(2)} ms`,
  );
}
