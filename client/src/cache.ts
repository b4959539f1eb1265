/** An answer that is kept for conditional requests. */
export interface CachedAnswer {
  /** As the service gave it. */
  readonly etag: string;
  /** JSON, as it was sent. */
  readonly body: string;
}

/**
 * Where answers are kept: with it, each is asked for with `If-None-Match`, and a 304 costs no body. An
 * answer that is kept is asked for again each time, so that none is ever stale. One cache for each key:
 * what another partner sees differs.
 */
export interface AnswerCache {
  /** @param target path and query, which hold no API key. */
  get(target: string): CachedAnswer | undefined | Promise<CachedAnswer | undefined>;
  set(target: string, answer: CachedAnswer): void | Promise<void>;
}

/** Keeps the answers that were used last in memory. */
export function memoryCache({ maxEntries = 500 }: { maxEntries?: number } = {}): AnswerCache {
  const answers = new Map<string, CachedAnswer>();
  return {
    get(target) {
      const answer = answers.get(target);
      if (answer !== undefined) {
        // A map keeps the order in which entries were set: the first is the one that was used least recently.
        answers.delete(target);
        answers.set(target, answer);
      }
      return answer;
    },
    set(target, answer) {
      answers.delete(target);
      answers.set(target, answer);
      for (const oldest of answers.keys()) {
        if (answers.size <= maxEntries) break;
        answers.delete(oldest);
      }
    },
  };
}
