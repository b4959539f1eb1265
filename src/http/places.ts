/**
 * So many places for whoever comes, of which nobody may hold more than are free: one alone gets
 * half of them, two a third each, and there is always room for who holds none. (Dynamic
 * thresholds, as switches share their memory among queues: Choudhury and Hahne, 1998.)
 */
export class Places<Who> {
  readonly #total: number;
  readonly #held = new Map<Who, number>();
  #taken = 0;

  constructor(total: number) {
    this.#total = total;
  }

  /** Takes one, to be given back; false where there is none for this one. */
  take(who: Who): boolean {
    const held = this.#held.get(who) ?? 0;
    if (held >= this.#total - this.#taken) return false;
    this.#held.set(who, held + 1);
    this.#taken += 1;
    return true;
  }

  giveBack(who: Who): void {
    const held = this.#held.get(who) ?? 0;
    if (held === 0) throw new Error('a place was given back that was not taken');
    if (held === 1) this.#held.delete(who);
    else this.#held.set(who, held - 1);
    this.#taken -= 1;
  }
}
