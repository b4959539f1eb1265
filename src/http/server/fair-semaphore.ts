/**
 * A fair semaphore: a holder can take another permit only while it holds fewer than are free. A lone holder gets half
 * of all permits, two holders a third each, and some are always left for a newcomer. (Dynamic thresholds, as switches
 * use to share memory among queues: Choudhury and Hahne, 1998.)
 */
export class FairSemaphore<Holder> {
  readonly #total: number;
  readonly #held = new Map<Holder, number>();
  #taken = 0;

  constructor(total: number) {
    this.#total = total;
  }

  /** Takes a permit, which must be released; false if `who` cannot have another one. */
  acquire(who: Holder): boolean {
    const held = this.#held.get(who) ?? 0;
    if (held >= this.#total - this.#taken) return false;
    this.#held.set(who, held + 1);
    this.#taken += 1;
    return true;
  }

  release(who: Holder): void {
    const held = this.#held.get(who) ?? 0;
    if (held === 0) throw new Error('a permit was released that was not taken');
    if (held === 1) this.#held.delete(who);
    else this.#held.set(who, held - 1);
    this.#taken -= 1;
  }
}
