import type { ProgressListener } from './context.ts';

/** The minimum interval between redraws. */
const REDRAW_MS = 100;

/** Draws nothing, for output that is not a terminal. */
export const NO_PROGRESS: ProgressListener = { advance: () => undefined, end: () => undefined };

/** The terminal to draw on, normally `process.stderr`. */
export interface Terminal {
  write(text: string): unknown;
}

/** One line with the number of changes received so far. */
export class ProgressLine implements ProgressListener {
  readonly #terminal: Terminal;
  readonly #clock: () => number;
  #drawnAtMs = -Infinity;

  /** @param clock monotonic milliseconds. */
  constructor(terminal: Terminal, clock: () => number = () => performance.now()) {
    this.#terminal = terminal;
    this.#clock = clock;
  }

  advance(done: number): void {
    if (this.#clock() - this.#drawnAtMs < REDRAW_MS) return;
    this.#drawnAtMs = this.#clock();
    this.#terminal.write(`\r\u001B[K${done.toLocaleString('en')} records received`);
  }

  end(): void {
    if (this.#drawnAtMs !== -Infinity) this.#terminal.write('\r\u001B[K');
    this.#drawnAtMs = -Infinity;
  }
}
