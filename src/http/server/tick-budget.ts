/**
 * After FAIR_MS of an event-loop tick, partners that already had an equal share of it are refused; after FULL_MS, all
 * are. A request that arrived when the tick began has waited that long: clients do not notice 50 ms, and hardly 150 ms.
 */
const FAIR_MS = 50;
const FULL_MS = 150;

/**
 * A tick always serves this many. If fewer were served, the tick is late because the process or the machine paused, not
 * because of load.
 */
const ALWAYS_SERVED = 8;

/**
 * The time budget of one event-loop tick, in which all requests that have arrived are read and served one after the
 * other. The time since the tick began is the least that the next request in it has waited, and is known immediately. A
 * mean of delays over the last second would penalize requests that come after the overload.
 *
 * Permits held until the end of the tick would need no clock, but the tick could take as long as 128 slow requests: next
 * to a flood on SQLite, the p99 of a modest client was 0.7 to 1.7 s with them, 0.25 to 0.35 s with this budget.
 */
export class TickBudget<Partner> {
  readonly #served = new Map<Partner, number>();
  #total = 0;
  #beganAtMs: number | null = null;

  /** Call for everything that arrives on a socket: the first call begins the tick. */
  begin(): void {
    if (this.#beganAtMs !== null) return;
    this.#beganAtMs = performance.now();
    setImmediate(() => this.#end());
  }

  /** Whether this tick has time for one more request; if so, the request is counted as served. */
  hasTimeFor(partner: Partner): boolean {
    if (this.#beganAtMs === null) return true;
    const served = this.#served.get(partner) ?? 0;
    const lateMs = performance.now() - this.#beganAtMs;
    const isFull = lateMs > FULL_MS || (lateMs > FAIR_MS && served * this.#served.size >= this.#total);
    if (isFull && this.#total >= ALWAYS_SERVED) return false;
    this.#served.set(partner, served + 1);
    this.#total += 1;
    return true;
  }

  #end(): void {
    this.#served.clear();
    this.#total = 0;
    this.#beganAtMs = null;
  }
}
