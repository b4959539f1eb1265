import { startService } from '../candidates/service.ts';
import type { HttpRequest } from '../load/load.ts';
import { askOneAtATime, isFailure, type TimedResponse } from '../load/one-at-a-time.ts';
import type { Engine, ServiceDatabase } from '../market/market.ts';
import type { BaseContext } from './context.ts';
import { note } from './progress.ts';
import type { Unit } from './results.ts';
import { median, quantile } from './statistics.ts';

/** Requests of one partner. */
export interface PartnerRequests {
  key: string;
  requests: readonly HttpRequest[];
}

export interface ColdWork {
  engine: Engine;
  database: ServiceDatabase;
  /** Sent before by each process, and not counted: for the compiler, with nothing that is measured. */
  warmUp: readonly PartnerRequests[];
  /** Sent in this order, each once. */
  measured: readonly PartnerRequests[];
  withNextPages?: boolean;
  /** Also measures the holds of the event loop, which takes some time of the responses. */
  withHolds?: boolean;
}

/** A busy machine makes a fast response slow, and never a slow one fast. */
const PASSES = 3;

/**
 * Measures responses of a process that has cached nothing of them: starts it, warms it up, and sends each request once.
 *
 * @returns the responses of each partner. Of several processes, the shortest time and hold of each.
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
  /** The time of the response, or the longest hold of the event loop during it. */
  measure: 'milliseconds' | 'holdMs';
}

/** Requests that are named beside the figures. */
const NAMED = 5;

/** Stores median, p99 and longest, and names the slowest requests. */
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
