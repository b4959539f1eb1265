import { LRUCache } from 'lru-cache';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Partner } from '../access/scope.ts';
import type { Revision } from '../database/revision.ts';
import type { Clock } from '../instant.ts';
import { EncodedText, sendEncoded } from './encoded-text.ts';
import { JSON_TYPE } from './error-handling.ts';

/** Memory limit for all cached responses together. */
const MOST_BYTES = 32 * 1024 * 1024;

/** Estimated memory per entry in addition to its text: objects and the cache's bookkeeping. */
const OVERHEAD_BYTES = 512;

/**
 * Responses longer than this (in bytes) are cached on their second request. Most pages of a full listing are never
 * requested again, and caching all of them would cost the garbage collector as much as rendering them.
 */
const LONGEST_KEPT_AT_ONCE = 8_192;

/** How many URLs of long responses that were requested once are remembered. */
const MOST_ASKED_ONCE = 20_000;

/** A rendered response for a partner. */
export interface Answer {
  /** JSON. */
  readonly body: string;
  /** Records in it. */
  readonly rows: number;
  /** The `X-Sync-Watermark`; null for none. */
  readonly watermark: string | null;
  /** Revision in `access.clock`, read by the same statement as the rows; null if the response must not be cached. */
  readonly revision: Revision | null;
  /** When the response becomes stale because an `is_open` in it changes. Infinity if none does. */
  readonly goodUntilMs: number;
}

/** A cached response. Serving it needs no database, hashing or compression. */
export interface KeptAnswer {
  readonly text: EncodedText;
  /** Records in it. */
  readonly rows: number;
  readonly watermark: string | null;
  /** The route as it appears in the log. */
  readonly route: string | null;
  readonly goodFromMs: number;
  readonly goodUntilMs: number;
}

/** Counters since the process started, and current size. */
export interface AnswerCacheState {
  /** Responses served from the cache. */
  readonly hits: number;
  /** Responses rendered. */
  readonly misses: number;
  /** Entries evicted to make room for others. */
  readonly evictions: number;
  readonly entries: number;
  readonly bytes: number;
  /** Upper limit of `bytes`. */
  readonly mostBytes: number;
}

declare module 'fastify' {
  interface FastifyInstance {
    answerCache: AnswerCache;
  }
}

/**
 * Responses by partner and URL, all of one revision of `access.clock`.
 *
 * Anything that changes a partner's responses produces another revision: a release; a change of its grants, limits,
 * suspension or keys; a failover or restore that loses such changes. So an entry is current if the directory's copy of
 * the partner has the revision at which the entry's rows were read. Only the passing of a deadline is checked
 * separately.
 */
export class AnswerCache {
  readonly #clock: Clock;
  readonly #answers: LRUCache<string, KeptAnswer>;
  readonly #askedOnce = new LRUCache<string, true>({ max: MOST_ASKED_ONCE });
  #revision: Revision | null = null;
  #hits = 0;
  #misses = 0;
  #evictions = 0;

  constructor(clock: Clock, mostBytes = MOST_BYTES) {
    this.#clock = clock;
    this.#answers = new LRUCache({
      maxSize: mostBytes,
      sizeCalculation: ({ text }, key) => OVERHEAD_BYTES + 2 * key.length + text.memoryBytes,
      dispose: (_answer, _key, reason) => {
        if (reason === 'evict') this.#evictions += 1;
      },
    });
  }

  /** Memory used by all entries, in bytes. */
  get bytes(): number {
    return this.#answers.calculatedSize;
  }

  get state(): AnswerCacheState {
    return {
      hits: this.#hits,
      misses: this.#misses,
      evictions: this.#evictions,
      entries: this.#answers.size,
      bytes: this.bytes,
      mostBytes: this.#answers.maxSize,
    };
  }

  /** Switches to a revision: drops all entries of any other, and from now on caches responses of this one only. */
  notice(revision: Revision | null): void {
    if (revision === this.#revision) return;
    this.#answers.clear();
    this.#askedOnce.clear();
    this.#revision = revision;
  }

  /**
   * Finds the cached response to a request.
   *
   * @param url as the client sent it.
   */
  find(partner: Partner, url: string): KeptAnswer | null {
    this.notice(partner.revision);
    const key = keyOf(partner, url);
    const kept = this.#answers.get(key);
    if (kept === undefined) return null;
    const nowMs = this.#clock();
    // If the clock was set back, the entry may be from before a deadline that has already passed.
    if (nowMs >= kept.goodFromMs && nowMs < kept.goodUntilMs) {
      this.#hits += 1;
      return kept;
    }
    this.#answers.delete(key);
    return null;
  }

  /** Prepares a response for sending, and caches it if it is certain to be the partner's newest. */
  finish(
    partner: Partner,
    url: string,
    { body, rows, watermark, revision, goodUntilMs }: Answer,
    route: string | null,
  ): KeptAnswer {
    this.#misses += 1;
    const text = new EncodedText(body);
    const answer = { text, rows, watermark, route, goodFromMs: this.#clock(), goodUntilMs };
    // The rows can be newer than `partner`, and `partner` older than the revision that another request has brought.
    if (revision !== null && revision === partner.revision && revision === this.#revision) {
      this.#keep(keyOf(partner, url), answer);
    }
    return answer;
  }

  #keep(key: string, answer: KeptAnswer): void {
    const { text } = answer;
    if (text.length > LONGEST_KEPT_AT_ONCE && !this.#askedOnce.has(key)) {
      this.#askedOnce.set(key, true);
      return;
    }
    this.#answers.set(key, answer);
    text.onGrowth = (): void => this.#weighAgain(key, answer);
  }

  /** lru-cache computes an entry's size on insertion only, not when the same value is set again. */
  #weighAgain(key: string, answer: KeptAnswer): void {
    if (this.#answers.peek(key) !== answer) return;
    this.#answers.delete(key);
    this.#answers.set(key, answer);
  }
}

function keyOf({ id }: Partner, url: string): string {
  return `${id} ${url}`;
}

/** Sends a rendered response with its ETag and watermark, and caches it if that is safe. */
export function sendAnswer(request: FastifyRequest, reply: FastifyReply, answer: Answer): FastifyReply {
  const { server, partner, originalUrl, routeOptions } = request;
  const { text, watermark } = server.answerCache.finish(partner, originalUrl, answer, routeOptions.url ?? null);
  request.answeredRows = answer.rows;
  if (watermark !== null) reply.header('x-sync-watermark', watermark);
  return sendEncoded(request, reply, text, JSON_TYPE);
}
