import { LRUCache } from 'lru-cache';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Partner } from '../access/scope.ts';
import type { Revision } from '../database/revision.ts';
import type { Clock } from '../instant.ts';
import { EncodedText, sendEncoded } from './encoded-text.ts';
import { JSON_TYPE } from './error-handling.ts';

/** Of memory for all answers together. */
const MOST_BYTES = 32 * 1024 * 1024;

/** What an answer takes besides its texts: objects, and its place among the others. */
const OVERHEAD_BYTES = 512;

/**
 * Longer answers than this are kept when they are asked for a second time: most pages of a walk
 * never are, and to keep them all costs the garbage collector as much as making them.
 */
const LONGEST_KEPT_AT_ONCE = 8_192;

/** Addresses of long answers that were asked for once. */
const MOST_ASKED_ONCE = 20_000;

/** A finished answer to a partner. */
export interface Answer {
  /** JSON. */
  readonly body: string;
  /** Records in it. */
  readonly rows: number;
  /** The `X-Sync-Watermark`; null for none. */
  readonly watermark: string | null;
  /** Of `access.clock`, as the very statement that read the rows saw it; null where the answer is not to be kept. */
  readonly revision: Revision | null;
  /** The moment from which it is no longer true: an `is_open` in it changes. Infinity for none. */
  readonly goodUntilMs: number;
}

/** An answer that is kept: found again, it needs no database, no hashing and no compressing. */
export interface KeptAnswer {
  readonly text: EncodedText;
  /** Records in it. */
  readonly rows: number;
  readonly watermark: string | null;
  /** As the log names it. */
  readonly route: string | null;
  readonly goodFromMs: number;
  readonly goodUntilMs: number;
}

/** What became of it since the process started, and what it holds now. */
export interface AnswerCacheState {
  /** Answers that were found. */
  readonly hits: number;
  /** Answers that had to be made. */
  readonly misses: number;
  /** Answers that made room for others. */
  readonly evictions: number;
  readonly entries: number;
  readonly bytes: number;
  /** What `bytes` stays below. */
  readonly mostBytes: number;
}

declare module 'fastify' {
  interface FastifyInstance {
    answerCache: AnswerCache;
  }
}

/**
 * Answers by partner and address, all of one revision of `access.clock`. Whatever can change what
 * a partner gets makes another revision: a publication, its grants, its limits, its suspension, its
 * keys, and changes that are lost. So an answer is current wherever the partner, as the directory has it now, was read at
 * the revision that the answer's own rows were read at; only the passing of a deadline is looked
 * at besides.
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

  /** The memory that all answers take, in bytes. */
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

  /** Drops what is of another revision: what is finished from now on is kept where it is of this one. */
  notice(revision: Revision | null): void {
    if (revision === this.#revision) return;
    this.#answers.clear();
    this.#askedOnce.clear();
    this.#revision = revision;
  }

  /**
   * The answer to the same question, asked before.
   *
   * @param url as the client sent it.
   */
  find(partner: Partner, url: string): KeptAnswer | null {
    this.notice(partner.revision);
    const key = keyOf(partner, url);
    const kept = this.#answers.get(key);
    if (kept === undefined) return null;
    const nowMs = this.#clock();
    // A clock that was set back may stand before a deadline that had passed.
    if (nowMs >= kept.goodFromMs && nowMs < kept.goodUntilMs) {
      this.#hits += 1;
      return kept;
    }
    this.#answers.delete(key);
    return null;
  }

  /** Makes an answer ready to be sent, and keeps it where it is sure to be the partner's newest. */
  finish(
    partner: Partner,
    url: string,
    { body, rows, watermark, revision, goodUntilMs }: Answer,
    route: string | null,
  ): KeptAnswer {
    this.#misses += 1;
    const text = new EncodedText(body);
    const answer = { text, rows, watermark, route, goodFromMs: this.#clock(), goodUntilMs };
    // The rows may be newer than the partner, and the partner older than what another request brought.
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

  /** The library weighs a value when it comes in, and not again when the same one is set. */
  #weighAgain(key: string, answer: KeptAnswer): void {
    if (this.#answers.peek(key) !== answer) return;
    this.#answers.delete(key);
    this.#answers.set(key, answer);
  }
}

function keyOf({ id }: Partner, url: string): string {
  return `${id} ${url}`;
}

/** Sends a finished answer with its tag and watermark, and keeps it for the next time where that is safe. */
export function sendAnswer(request: FastifyRequest, reply: FastifyReply, answer: Answer): FastifyReply {
  const { server, partner, originalUrl, routeOptions } = request;
  const { text, watermark } = server.answerCache.finish(partner, originalUrl, answer, routeOptions.url ?? null);
  request.answeredRows = answer.rows;
  if (watermark !== null) reply.header('x-sync-watermark', watermark);
  return sendEncoded(request, reply, text, JSON_TYPE);
}
