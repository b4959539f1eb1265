import type { DirectoryState } from '../access/partner-directory.ts';
import type { ServerState } from '../database/database.ts';
import type { ResponseCacheState } from '../http/response-cache.ts';
import type { RedisRateLimiter } from '../redis/redis-rate-limiter.ts';
import type { InstrumentedRateLimiter } from './instrumented-rate-limiter.ts';

/**
 * The observable parts of a serving process. Each returns its state synchronously, from memory, when it is read. Parts
 * that this process does not have are omitted, and their metrics have no value. `part-metrics.ts` and `readiness.ts`
 * use them.
 */
export interface ObservedParts {
  readonly directory: { readonly state: DirectoryState };
  readonly responseCache: { readonly state: ResponseCacheState };
  readonly rateLimiter: Pick<InstrumentedRateLimiter, 'limitedRequests' | 'failures'>;
  /** The timestamp of the last release. Not synchronous: it can need a database read. */
  readonly lastPublication: { readonly read: () => Promise<string> };
  /** PostgreSQL only. */
  readonly servers?: (() => readonly ServerState[]) | undefined;
  /** Only if requests are to be counted in Redis. */
  readonly redisRateLimiter?: Pick<RedisRateLimiter, 'isShared' | 'fallbacks' | 'processes'> | undefined;
  /** Failed attempts to write usage counts since the process started. */
  readonly usageFlushFailures?: (() => number) | undefined;
  /** Requests refused for overload since the process started. */
  readonly shedRequests?: (() => number) | undefined;
}
