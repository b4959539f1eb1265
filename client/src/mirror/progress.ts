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

/** One line of a terminal: what is walked, how far it is, and how long the rest will take at this rate. */
export class ProgressBar implements ProgressListener {
  readonly #write: (text: string) => void;
  readonly #clock: () => number;
  #what = '';
  #total: number | null = null;
  #first = 0;
  #done = 0;
  #begunAtMs = 0;
  #drawnAtMs = 0;

  /** @param clock milliseconds that only rise. */
  constructor(write: (text: string) => void, clock: () => number = () => performance.now()) {
    this.#write = write;
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
    this.#draw(`; waits ${timeText(ms)} for the limit`);
  }

  end(): void {
    this.#write('\r\u001B[K');
  }

  #draw(more: string): void {
    this.#drawnAtMs = this.#clock();
    this.#write(`\r\u001B[K${this.#what} ${this.#position()}${more}`);
  }

  #position(): string {
    const done = this.#done.toLocaleString('en');
    if (this.#total === null || this.#total < this.#done) return done;
    const filled = this.#total === 0 ? BAR : Math.floor((BAR * this.#done) / this.#total);
    const bar = `[${'='.repeat(filled)}${' '.repeat(BAR - filled)}]`;
    return `${bar} ${done} of ${this.#total.toLocaleString('en')}${this.#rest(this.#total)}`;
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
