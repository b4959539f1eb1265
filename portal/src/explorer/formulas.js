// Spreadsheets run a cell that begins with one of these as a formula. The service leaves data as it is, since escaping
// would change negative numbers and titles; a reader who opens the file in one can choose it here.

const FORMULA_STARTS = new Set(new TextEncoder().encode('=+-@\t\r'));

const QUOTE = 0x22;
const COMMA = 0x2c;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

const APOSTROPHE = new TextEncoder().encode("'");

/** Puts an apostrophe before each cell that would be a formula. Call `alter` for each chunk of one file, in order. */
export class FormulaGuard {
  #isQuoted = false;
  /** Whether the next byte is the first of a cell's text. */
  #isFirst = true;

  /**
   * @param {Uint8Array<ArrayBuffer>} csv a part of a CSV file as the service sends it: RFC 4180, UTF-8
   * @returns {Uint8Array<ArrayBuffer>[]} what it becomes
   */
  alter(csv) {
    const parts = [];
    let start = 0;
    for (let index = 0; index < csv.length; index++) {
      const byte = csv[index] ?? 0;
      if (byte === QUOTE) {
        // The text of a quoted cell begins after its quote. One in the text is doubled: the second quotes the cell again.
        this.#isFirst &&= !this.#isQuoted;
        this.#isQuoted = !this.#isQuoted;
        continue;
      }
      if (this.#isFirst && FORMULA_STARTS.has(byte) && (this.#isQuoted || byte !== CARRIAGE_RETURN)) {
        parts.push(csv.subarray(start, index), APOSTROPHE);
        start = index;
      }
      this.#isFirst = !this.#isQuoted && (byte === COMMA || byte === LINE_FEED);
    }
    parts.push(csv.subarray(start));
    return parts;
  }
}
