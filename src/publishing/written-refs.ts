/** The refs of an import and their lines: up to millions, at 12 bytes each. */
export class WrittenRefs {
  #refs = new Float64Array(1024);
  #lines = new Uint32Array(1024);
  #size = 0;

  add(ref: number, line: number): void {
    if (this.#size === this.#refs.length) {
      const [refs, lines] = [this.#refs, this.#lines];
      this.#refs = new Float64Array(2 * this.#size);
      this.#lines = new Uint32Array(2 * this.#size);
      this.#refs.set(refs);
      this.#lines.set(lines);
    }
    this.#refs[this.#size] = ref;
    this.#lines[this.#size] = line;
    this.#size += 1;
  }

  /** Each once. */
  all(): number[] {
    return [...new Set(this.#refs.subarray(0, this.#size))];
  }

  /** Every line whose ref is already on an earlier line. */
  repeated(): { ref: number; line: number; first: number }[] {
    const sorted = this.#refs.slice(0, this.#size).sort();
    const firsts = new Map<number, number | null>();
    sorted.forEach((ref, place) => {
      if (sorted[place - 1] === ref) firsts.set(ref, null);
    });
    if (firsts.size === 0) return [];
    const found: { ref: number; line: number; first: number }[] = [];
    for (let place = 0; place < this.#size; place += 1) {
      const ref = this.#refs[place] ?? 0;
      const line = this.#lines[place] ?? 0;
      const first = firsts.get(ref);
      if (first === undefined) continue;
      if (first === null) firsts.set(ref, line);
      else found.push({ ref, line, first });
    }
    return found;
  }
}
