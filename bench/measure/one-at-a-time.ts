import type { RunningCandidate } from '../candidates/candidate.ts';
import type { HttpRequest } from '../load/load.ts';
import { askOneAtATime, type TimedResponse } from '../load/clients.ts';
import { startCpuMeter } from '../machine/usage.ts';
import type { BaseContext } from './context.ts';
import type { Unit } from './results.ts';
import { median, quantile } from './statistics.ts';

export interface OneAtATimeWork {
  work: string;
  candidate: RunningCandidate;
  /** In place of those of a partner that sees everything. */
  headers?: Record<string, string>;
  requests: readonly HttpRequest[];
}

/** Measures the response times of distinct requests, sent one at a time. */
export async function measureOneAtATime(context: BaseContext, work: OneAtATimeWork): Promise<void> {
  const { candidate, requests } = work;
  const cpuSince = startCpuMeter(candidate.pid, candidate.usesPostgres ? context.postgres.process.pid : null);
  const headers = work.headers ?? candidate.headers(0);
  const responses = await askOneAtATime({ port: candidate.port, headers, requests });
  const { server, database } = cpuSince();
  const cpu = ((server + database) / responses.length) * 1e6;
  recordTimes(context, work.work, candidate.name, responses, { 'CPU µs': cpu });
}

/** Records median, p99, maximum and number. Responses that failed are a problem. */
export function recordTimes(
  { record }: BaseContext,
  work: string,
  candidate: string,
  responses: readonly TimedResponse[],
  more: Partial<Record<Unit, number>> = {},
): void {
  const failed = responses.filter(({ status }) => status < 200 || status >= 400);
  if (failed[0] !== undefined) {
    const { path, status } = failed[0];
    record.problem(candidate, `${failed.length} of ${responses.length} to "${work}" failed: ${path} with ${status}`);
    return;
  }
  const times = responses.map(({ milliseconds }) => milliseconds);
  record.add(work, candidate, {
    'p50 ms': median(times),
    'p99 ms': quantile(times, 0.99),
    // There can be more of them than a call can have arguments.
    'longest ms': times.reduce((longest, time) => Math.max(longest, time), 0),
    requests: times.length,
    ...more,
  });
}
