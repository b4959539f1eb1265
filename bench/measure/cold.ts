import { startService } from '../candidates/service.ts';
import type { HttpRequest } from '../load/load.ts';
import { askOneAtATime, isFailure, type TimedResponse } from '../load/one-at-a-time.ts';
import type { Engine, ServiceDatabase } from '../market/market.ts';
import type { BaseContext } from './context.ts';
import { note } from './progress.ts';
import type { Unit } from './results.ts';
import { median, quantile } from './statistics.ts';

/** Requests sent with one partner's key. */
export interface PartnerRequests {
  key: string;
  requests: readonly HttpRequest[];
}

export interface ColdWork {
  engine: Engine;
  database: ServiceDatabase;
  /** Sent to each process first and not counted, to warm up the JIT. Must not overlap with `measured`. */
  warmUp: readonly PartnerRequests[];
  /** Sent once each, in this order. */
  measured: readonly PartnerRequests[];
  withNextPages?: boolean;
  /** Also measures event-loop holds, which makes responses slightly slower. */
  withHolds?: boolean;
}

/** The best of several passes counts: noise on the machine can only make a response slower, never faster. */
const PASSES = 3;

/**
 * Measures uncached responses: starts a process, warms it up, and sends each request once.
 *
 * @returns the responses of each partner, with the shortest time and hold of several passes, each in a new process.
 */
export async function measureCold(context: BaseContext, work: ColdWork): Promise<TimedResponse[][]> {
  const best = work.measured.map(() => new Map<string, TimedResponse>());
  for (let pass = 0; pass < (context.settings.isSmoke ? 1 : PASSES); pass++) {
    for (const [index, responses] of (await measureOnce(context, work)).entries()) {
      for (const response of responses) keepShorter(best[index], response);
    }
  }
  return best.map((responses) => [...responses.values()]);
}

async function measureOnce({ scratch }: BaseContext, work: ColdWork): Promise<TimedResponse[][]> {
  const service = await startService(work.engine, work.database, {
    folder: scratch,
    withHoldProbe: work.withHolds === true,
  });
  try {
    const send = ({ key, requests }: PartnerRequests, withNextPages = false): Promise<TimedResponse[]> =>
      askOneAtATime({
        port: service.port,
        headers: { Authorization: `Bearer ${key}` },
        requests,
        withNextPages,
        holdPort: service.holdPort,
      });
    for (const requests of work.warmUp) await send(requests);
    const responses: TimedResponse[][] = [];
    for (const requests of work.measured) responses.push(await send(requests, work.withNextPages));
    return responses;
  } finally {
    await service.stop();
  }
}

function keepShorter(best: Map<string, TimedResponse> | undefined, response: TimedResponse): void {
  const before = best?.get(response.request);
  best?.set(response.request, {
    ...response,
    milliseconds: Math.min(response.milliseconds, before?.milliseconds ?? Infinity),
    holdMs: response.holdMs === null ? null : Math.min(response.holdMs, before?.holdMs ?? Infinity),
    status: before !== undefined && isFailure(before) ? before.status : response.status,
  });
}

export interface ColdReport {
  part: string;
  work: string;
  size: number;
  candidate: string;
  /** The response time, or the longest event-loop hold during the response. */
  measure: 'milliseconds' | 'holdMs';
}

/** The number of slowest requests to log. */
const NAMED = 5;

/** Stores median, p99 and maximum, and logs the slowest requests. */
export function reportCold(context: BaseContext, report: ColdReport, responses: readonly TimedResponse[]): void {
  const { measure, ...base } = report;
  const failed = responses.filter(isFailure);
  if (failed.length > 0) {
    const [{ request, status }] = failed as [TimedResponse];
    const reason = `${failed.length} of ${responses.length} requests of "${report.work}" failed: ${request} with ${status}`;
    if (context.settings.isSmoke) throw new Error(`${report.candidate}: ${reason}`);
    context.store.addGap({ part: report.part, candidate: report.candidate, reason });
  }
  const values = responses.map((response) => response[measure] ?? NaN);
  const figures: [unit: Unit, value: number][] = [
    ['p50 ms', median(values)],
    ['p99 ms', quantile(values, 0.99)],
    ['most ms', Math.max(...values)],
  ];
  for (const [unit, value] of figures) context.store.add({ ...base, unit, values: [value] });
  const texts = figures.map(([unit, value]) => `${unit} ${value.toFixed(2)}`);
  note(`${report.work}, ${report.candidate}, ${responses.length} requests: ${texts.join(', ')}`);
  const slowest = responses.toSorted((a, b) => (b[measure] ?? 0) - (a[measure] ?? 0)).slice(0, NAMED);
  for (const response of slowest) note(`  ${(response[measure] ?? NaN).toFixed(2)} ms: ${response.request}`);
}
