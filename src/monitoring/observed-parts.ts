import type { DirectoryState } from '../access/partner-directory.ts';
import type { ServerState } from '../database/database.ts';
import type { AnswerCacheState } from '../http/answer-cache.ts';
import type { SharedLimits } from '../redis/shared-limits.ts';
import type { CountedLimits } from './counted-limits.ts';

/**
 * The parts of a serving process whose state is to be seen from outside: each gives it when it
 * is asked, from memory, at once. A part that this process does not have is left out; its
 * metrics then have no value. What is made of them stands in `part-metrics.ts` and
 * `readiness.ts`.
 */
export interface ObservedParts {
  readonly directory: { readonly state: DirectoryState };
  readonly answerCache: { readonly state: AnswerCacheState };
  readonly limits: Pick<CountedLimits, 'limitedRequests' | 'failures'>;
  /** The instant of the last publication. */
  readonly lastPublication: { readonly read: () => Promise<string> };
  /** On PostgreSQL. */
  readonly servers?: (() => readonly ServerState[]) | undefined;
  /** Where requests are to be counted in Redis. */
  readonly sharedLimits?: Pick<SharedLimits, 'isShared' | 'fallbacks' | 'processes'> | undefined;
  /** How often the counts of usage could not be written, since the process started. */
  readonly usageFlushFailures?: (() => number) | undefined;
  /** Requests that were refused because there was too much to do, since the process started. */
  readonly shedRequests?: (() => number) | undefined;
}
