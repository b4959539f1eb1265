/** A partner keeps its turn for this long: a turn per index block would cost as much as searching the block. */
const TURN_MS = 1;

/** Turns of one event-loop iteration begin within this time, or within the time that reading requests took, if longer. */
const MIN_TURNS_MS = 2;

/**
 * Shares the event loop among partners. Each response is computed in turns of a millisecond: a partner gets its next turn
 * after every other that waits, however many requests it has. New requests are read before the next turns.
 */
export class FairScheduler<Partner> {
  /** The jobs of each partner that wait. The partner that gets the next turn comes first. */
  readonly #waiting = new Map<Partner, (() => void)[]>();
  /** When the turns of this iteration end; null if it had none yet. */
  #endMs: number | null = null;
  #lastTurnMs = 0;
  /** The partner of the last turn, and when that turn ends. */
  #lastPartner: Partner | null = null;
  #turnEndsMs = 0;

  /** Call before each step of longer work. Resolves when the partner has a turn; undefined if it has one now. */
  turn(partner: Partner): Promise<void> | undefined {
    if (partner === this.#lastPartner && performance.now() < this.#turnEndsMs) return undefined;
    if (this.#waiting.size === 0 && this.#hasTime(partner)) return undefined;
    return new Promise((resolve) => {
      const jobs = this.#waiting.get(partner);
      if (jobs === undefined) this.#waiting.set(partner, [resolve]);
      else jobs.push(resolve);
      setImmediate(this.#next);
    });
  }

  readonly #next = (): void => {
    const [first] = this.#waiting;
    if (first === undefined) return;
    const [partner, jobs] = first;
    if (!this.#hasTime(partner)) {
      setImmediate(this.#next);
      return;
    }
    this.#waiting.delete(partner);
    const job = jobs.shift();
    if (jobs.length > 0) this.#waiting.set(partner, jobs);
    job?.();
  };

  /** Whether there is time for another turn in this iteration; if so, the partner has it. */
  #hasTime(partner: Partner): boolean {
    const nowMs = performance.now();
    if (this.#endMs === null) {
      const readingMs = this.#waiting.size > 0 ? nowMs - this.#lastTurnMs : 0;
      this.#endMs = nowMs + Math.max(MIN_TURNS_MS, readingMs);
      setImmediate(() => {
        this.#endMs = null;
      });
    }
    this.#lastTurnMs = nowMs;
    if (nowMs > this.#endMs) return false;
    this.#lastPartner = partner;
    this.#turnEndsMs = nowMs + TURN_MS;
    return true;
  }
}

/** Of this process, by the ids of partners. */
export const scheduler = new FairScheduler<number>();
