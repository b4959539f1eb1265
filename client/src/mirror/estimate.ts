import type { SolicitationCountFilters } from '../client.ts';
import { ForbiddenError } from '../errors.ts';
import type { RateLimit } from '../rate-limit.ts';
import { takeTurn, type SyncContext } from './context.ts';
import { timeText } from './progress.ts';
import { NEVER_READ_A_RUN } from './store.ts';
import { PAGE_SIZE } from './walk.ts';

/** A million records: the example size for lists whose length is unknown. */
const MANY = 1_000_000;

/** The known size of a first run, and the rate limit that determines how long it takes. */
export interface Estimate {
  /** Null if the key has no access to them. */
  readonly solicitations: number | null;
  /** Those with live bidding, whose details are read; null if the key has no access to them. */
  readonly open: number | null;
  readonly limit: RateLimit | null;
}

/**
 * Estimates a first run. Takes three requests.
 *
 * @throws the client's errors, StoppedError.
 */
export async function estimateFirstRun(context: SyncContext, limit: () => RateLimit | null): Promise<Estimate> {
  const count = async (filters: SolicitationCountFilters): Promise<number> => {
    await takeTurn(context);
    return context.client.solicitations.count(filters, { signal: context.abort });
  };
  try {
    const solicitations = await count({});
    // Solicitations without a deadline are open too, but no filter selects them: subtract those past their deadline.
    const passed = await count({ status: 'open', closing_before: new Date(context.clock()) });
    const open = (await count({ status: 'open' })) - passed;
    return { solicitations, open, limit: limit() };
  } catch (error) {
    if (error instanceof ForbiddenError) return { solicitations: null, open: null, limit: limit() };
    throw error;
  }
}

/** Renders the estimate for the operator, with durations if the rate limit is known. */
export function estimateText({ solicitations, open, limit }: Estimate): string {
  const timeOf = (requests: number): string => (limit === null ? '' : `, ${timeText(durationMs(requests, limit))}`);
  const sentences: string[] = [];
  if (solicitations !== null && open !== null) {
    const requests = Math.ceil(solicitations / PAGE_SIZE) + open + Math.min(NEVER_READ_A_RUN, solicitations - open);
    sentences.push(
      `First run: ${number(solicitations)} solicitations, ${number(open)} of them open, take about ` +
        `${number(requests)} requests${timeOf(requests)}.`,
    );
  }
  sentences.push(
    `The numbers of contracts and suppliers are not known in advance: a million take ` +
      `${number(MANY / PAGE_SIZE)} requests${timeOf(MANY / PAGE_SIZE)}.`,
  );
  if (limit !== null)
    sentences.push(
      `This is at your limit of ${number(limit.quota)} requests in ${timeText(limit.windowSeconds * 1_000)}; ` +
        `a slow network or service can take longer.`,
    );
  return sentences.join(' ');
}

/** The time that the rate limit imposes: one quota of requests per window. */
function durationMs(requests: number, { quota, windowSeconds }: RateLimit): number {
  return (requests / quota) * windowSeconds * 1_000;
}

function number(value: number): string {
  return value.toLocaleString('en');
}
