/** A response cached for conditional requests. */
export interface CachedAnswer {
  /** The `ETag` header, verbatim. */
  readonly etag: string;
  /** The JSON text, verbatim. */
  readonly body: string;
}

/**
 * Stores responses for conditional requests: the client sends `If-None-Match`, and a 304 transfers no body. Every
 * cached response is revalidated on every request, so the client never returns stale data. Use one cache per API key,
 * because partners see different records.
 */
export interface AnswerCache {
  /** @param target path and query; never contains the API key. */
  get(target: string): CachedAnswer | undefined | Promise<CachedAnswer | undefined>;
  set(target: string, answer: CachedAnswer): void | Promise<void>;
}

/** An in-memory LRU cache. */
export function memoryCache({ maxEntries = 500 }: { maxEntries?: number } = {}): AnswerCache {
  const answers = new Map<string, CachedAnswer>();
  const set = (target: string, answer: CachedAnswer): void => {
    // A Map iterates in insertion order, so re-inserting keeps the least recently used entry first.
    answers.delete(target);
    answers.set(target, answer);
    for (const oldest of answers.keys()) {
      if (answers.size <= maxEntries) break;
      answers.delete(oldest);
    }
  };
  return {
    set,
    get(target) {
      const answer = answers.get(target);
      if (answer !== undefined) set(target, answer);
      return answer;
    },
  };
}
