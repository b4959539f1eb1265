/**
 * From so much of a turn on, who had an equal part of it waits for the next; after so much, all do.
 * A request that came when the turn began has waited for so long; a client does not notice the first, and the second hardly.
 */
const FAIR_MS = 50;
const FULL_MS = 150;

/** So many are served in any turn: with fewer it was no crowd that made it late, but a pause of the process or the machine. */
const ALWAYS_SERVED = 8;

/**
 * A turn of the event loop, in which all that has arrived is read and answered, one after the
 * other. So the time since it began is what the next request in it has waited at least, and it is
 * known at once: a mean of delays over the last second refuses, for the next, whoever comes.
 */
export class Turn<Who> {
  readonly #served = new Map<Who, number>();
  #total = 0;
  #beganAtMs: number | null = null;

  /** To be called for all that arrives on a socket: the first begins the turn. */
  begin(): void {
    if (this.#beganAtMs !== null) return;
    this.#beganAtMs = performance.now();
    setImmediate(() => this.#end());
  }

  /** Whether there is time left in this turn for one more request; if so, it is taken to be served. */
  hasTimeFor(who: Who): boolean {
    if (this.#beganAtMs === null) return true;
    const served = this.#served.get(who) ?? 0;
    const lateMs = performance.now() - this.#beganAtMs;
    const isFull = lateMs > FULL_MS || (lateMs > FAIR_MS && served * this.#served.size >= this.#total);
    if (isFull && this.#total >= ALWAYS_SERVED) return false;
    this.#served.set(who, served + 1);
    this.#total += 1;
    return true;
  }

  #end(): void {
    this.#served.clear();
    this.#total = 0;
    this.#beganAtMs = null;
  }
}
