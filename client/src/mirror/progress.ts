import type { ProgressListener } from './context.ts';

const BAR = 24;

/** The minimum interval between redraws. */
const REDRAW_MS = 100;

/** Draws nothing, for output that is not a terminal. */
export const NO_PROGRESS: ProgressListener = {
  begin: () => undefined,
  advance: () => undefined,
  end: () => undefined,
};

/** The terminal to draw on, normally `process.stderr`. */
export interface Terminal {
  write(text: string): unknown;
  readonly columns?: number;
}

/** A one-line progress bar: the current list, its progress and the estimated time left. */
export class ProgressBar implements ProgressListener {
  readonly #terminal: Terminal;
  readonly #clock: () => number;
  #what = '';
  #total: number | null = null;
  #first = 0;
  #done = 0;
  #begunAtMs = 0;
  #drawnAtMs = 0;

  /** @param clock monotonic milliseconds. */
  constructor(terminal: Terminal, clock: () => number = () => performance.now()) {
    this.#terminal = terminal;
    this.#clock = clock;
  }

  begin(what: string, done: number, total: number | null): void {
    this.#what = what;
    this.#total = total;
    this.#first = done;
    this.#done = done;
    this.#begunAtMs = this.#clock();
    this.#draw('');
  }

  advance(done: number): void {
    this.#done = done;
    if (this.#clock() - this.#drawnAtMs >= REDRAW_MS) this.#draw('');
  }

  /** Shows that requests are paused by the rate limit. */
  pause(ms: number): void {
    this.#draw(`; waiting ${timeText(ms)}`);
  }

  end(): void {
    this.#terminal.write('\r\u001B[K');
  }

  #draw(pause: string): void {
    this.#drawnAtMs = this.#clock();
    const line = this.#describe(pause);
    // A line that wraps could not be erased, so it is cut. The text comes before the bar, so that the bar is cut first.
    const { columns = 0 } = this.#terminal;
    this.#terminal.write(`\r\u001B[K${columns > 0 ? line.slice(0, columns - 1) : line}`);
  }

  #describe(pause: string): string {
    const done = `${this.#what} ${this.#done.toLocaleString('en')}`;
    if (this.#total === null || this.#total < this.#done) return done + pause;
    const filled = this.#total === 0 ? BAR : Math.floor((BAR * this.#done) / this.#total);
    const bar = `[${'='.repeat(filled)}${' '.repeat(BAR - filled)}]`;
    return `${done} of ${this.#total.toLocaleString('en')}${this.#rest(this.#total)}${pause} ${bar}`;
  }

  #rest(total: number): string {
    const since = this.#done - this.#first;
    if (since === 0 || total === this.#done) return '';
    return `, ${timeText(((this.#clock() - this.#begunAtMs) / since) * (total - this.#done))} left`;
  }
}

/** Renders a duration such as `17 minutes`, rounded up. */
export function timeText(ms: number): string {
  if (ms < 90_000) return amount(Math.ceil(ms / 1_000), 'second');
  if (ms < 90 * 60_000) return amount(Math.ceil(ms / 60_000), 'minute');
  return amount(Math.ceil(ms / 3_600_000), 'hour');
}

function amount(count: number, unit: string): string {
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}
