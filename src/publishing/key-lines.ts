import type { PositionPlan } from './position-plan.ts';

/** The line number of each key of a source. */
export interface KeyLines {
  get(key: string): number | undefined;
}

/** Line numbers for the keys of a plan, which can be millions: four bytes each. */
export class PlannedKeyLines implements KeyLines {
  readonly #plan: PositionPlan;
  readonly #lines: Uint32Array;

  constructor(plan: PositionPlan) {
    this.#plan = plan;
    this.#lines = new Uint32Array(plan.keys.length);
  }

  get(key: string): number | undefined {
    return this.at(this.#plan.find(key)?.place ?? -1);
  }

  /** The line of the key at this index of the plan; undefined until set. */
  at(place: number): number | undefined {
    const line = this.#lines[place];
    return line === 0 ? undefined : line;
  }

  set(place: number, line: number): void {
    this.#lines[place] = line;
  }
}
