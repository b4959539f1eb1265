import { LRUCache } from 'lru-cache';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Partner } from '../../access/scope.ts';
import type { Revision } from '../../database/revision.ts';
import type { Clock } from '../../timestamp.ts';
import { EncodedText, sendText, JSON_TYPE } from './send-text.ts';

const MAX_CACHE_BYTES = 32 * 1024 * 1024;

/** Estimated memory per entry in addition to its text: objects and the cache's bookkeeping. */
const OVERHEAD_BYTES = 512;

/**
 * Longer responses (in bytes) are cached when they are requested again. Most pages of a listing never are, and V8 copies what
 * is kept: caching all of them takes a fifth more CPU time for each.
 */
const MAX_LENGTH_CACHED_AT_ONCE = 8_192;

/** How many long responses are remembered that were requested once. */
const MAX_REQUESTED_ONCE = 20_000;

export interface RenderedResponse {
  /** JSON. */
  readonly body: string | Uint8Array;
  /** Records in it. */
  readonly rows: number;
  /** The `X-Sync-Watermark`, if it has one. */
  readonly watermark?: string;
  /** The `Link` to the next page, if there is one. */
  readonly link?: string;
  /** The revision, read by the same statement as the rows. Without it, the response is not cached. */
  readonly revision?: Revision | null;
  /** When the response becomes stale because an `is_open` in it changes; omitted or infinite for never. */
  readonly goodUntilMs?: number;
}

/** A cached response. Serving it needs no database, hashing or compression. */
export interface CachedResponse extends Omit<RenderedResponse, 'body' | 'revision'> {
  readonly text: EncodedText;
  readonly goodFromMs: number;
  readonly goodUntilMs: number;
}

type PartnerState = Pick<Partner, 'id' | 'revision'>;

export const WATERMARK_HEADER = 'x-sync-watermark';

declare module 'fastify' {
  interface FastifyInstance {
    responseCache: ResponseCache;
  }
}

/**
 * Responses by partner and URL, all of one revision: every release, change of a partner or key, and loss of such changes
 * makes another, which empties the cache. So an entry is current if the directory's copy of the partner has the revision at
 * which the entry's rows were read. Only the passing of a deadline is checked separately.
 */
export class ResponseCache {
  readonly #clock: Clock;
  readonly responses: LRUCache<string, CachedResponse>;
  readonly #requestedOnce = new LRUCache<string, true>({ max: MAX_REQUESTED_ONCE });
  #revision: Revision | null = null;
  hits = 0;
  misses = 0;
  evictions = 0;

  constructor(clock: Clock, maxBytes = MAX_CACHE_BYTES) {
    this.#clock = clock;
    this.responses = new LRUCache({
      maxSize: maxBytes,
      // A string takes up to two bytes for each of UTF-8; the buffer that replaces it one, and compressed forms less.
      sizeCalculation: ({ text, link = '' }, key) => OVERHEAD_BYTES + 2 * (key.length + text.length) + link.length,
      dispose: (_response, _key, reason) => {
        if (reason === 'evict') this.evictions += 1;
      },
    });
  }

  /** @param url as the client sent it. */
  find(partner: PartnerState, url: string): CachedResponse | null {
    if (partner.revision !== this.#revision) {
      this.responses.clear();
      this.#requestedOnce.clear();
      this.#revision = partner.revision;
    }
    const key = keyOf(partner, url);
    const cached = this.responses.get(key);
    if (cached === undefined) return null;
    const nowMs = this.#clock();
    // If the clock was set back, the entry may be from before a deadline that has already passed.
    if (nowMs < cached.goodFromMs || nowMs >= cached.goodUntilMs) {
      this.responses.delete(key);
      return null;
    }
    this.hits += 1;
    return cached;
  }

  /** Caches a response if it is certain to be the partner's newest. */
  finish(partner: PartnerState, url: string, rendered: RenderedResponse): CachedResponse {
    const { body, revision = null, goodUntilMs = Infinity, ...others } = rendered;
    this.misses += 1;
    const text = new EncodedText(body);
    const response = { text, ...others, goodFromMs: this.#clock(), goodUntilMs };
    // The rows can be newer than `partner`, and another request can have emptied the cache for a newer revision.
    if (revision !== null && revision === partner.revision && revision === this.#revision) {
      const key = keyOf(partner, url);
      if (text.length <= MAX_LENGTH_CACHED_AT_ONCE || this.#requestedOnce.has(key)) this.responses.set(key, response);
      else this.#requestedOnce.set(key, true);
    }
    return response;
  }
}

function keyOf({ id }: PartnerState, url: string): string {
  return `${id} ${url}`;
}

/** Sends a response with its ETag and watermark. */
export function sendCached(request: FastifyRequest, reply: FastifyReply, response: CachedResponse): FastifyReply {
  const { text, rows, watermark, link } = response;
  request.sentRows = rows;
  if (watermark !== undefined) reply.header(WATERMARK_HEADER, watermark);
  if (link !== undefined) reply.header('link', link);
  return sendText(request, reply, text, JSON_TYPE);
}

/** Sends a rendered response, and caches it if that is safe. */
export function sendResponse(request: FastifyRequest, reply: FastifyReply, response: RenderedResponse): FastifyReply {
  const { server, partner, originalUrl } = request;
  return sendCached(request, reply, server.responseCache.finish(partner, originalUrl, response));
}
