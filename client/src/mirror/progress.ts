import type { ProgressListener } from './context.ts';

const BAR = 24;

/** Not more often than a reader can see. */
const REDRAW_MS = 100;

/** Nothing: where nobody looks. */
export const NO_PROGRESS: ProgressListener = {
  begin: () => undefined,
  advance: () => undefined,
  end: () => undefined,
};

/** Where it is drawn: `process.stderr`, if that is a terminal. */
export interface Terminal {
  write(text: string): unknown;
  readonly columns?: number;
}

/** One line of a terminal: what is walked, how far it is, and how long the rest will take at this rate. */
export class ProgressBar implements ProgressListener {
  readonly #terminal: Terminal;
  readonly #clock: () => number;
  #what = '';
  #total: number | null = null;
  #first = 0;
  #done = 0;
  #begunAtMs = 0;
  #drawnAtMs = 0;

  /** @param clock milliseconds that only rise. */
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

  /** The limit is used up. */
  pause(ms: number): void {
    this.#draw(`; waits ${timeText(ms)}`);
  }

  end(): void {
    this.#terminal.write('\r\u001B[K');
  }

  #draw(pause: string): void {
    this.#drawnAtMs = this.#clock();
    const line = this.#describe(pause);
    // A line that is broken by the terminal could not be taken back. What is said stands first, so that it is seen.
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

/** `17 minutes`, rounded up. */
export function timeText(ms: number): string {
  if (ms < 90_000) return amount(Math.ceil(ms / 1_000), 'second');
  if (ms < 90 * 60_000) return amount(Math.ceil(ms / 60_000), 'minute');
  return amount(Math.ceil(ms / 3_600_000), 'hour');
}

function amount(count: number, unit: string): string {
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}
