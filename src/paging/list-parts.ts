import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql } from 'kysely';
import type { OpenDatabase } from '../database/database.ts';
import { limitSlot, slot } from '../database/statement.ts';
import { overloaded } from '../http/errors.ts';
import type { Asking } from './asking.ts';
import type { Turns } from './turns.ts';

/** Records from one place at which a list may be cut to the next. */
const RECORDS_BETWEEN_CUTS = 1_000;

/** Made before others are answered: about a millisecond's work. */
const CUTS_AT_ONCE = 20;

/** In the place of the publication that the first cuts were made at. */
const FIRST_CUT = 'first';

/**
 * How many cuts a part reaches. The first is some milliseconds for the costliest question, and a small list as a whole: each
 * part costs a statement. One that took long is followed by a shorter one. None is longer than the last of these, whatever
 * came before: records of one kind may stand together.
 */
const FIRST_REACH = 8;
const LONGEST_REACH = 32;
const GROWTH = 4;

/**
 * What a part should take of the processor, which everyone else waits for. Not by the clock: on a
 * machine that is busy parts would become ever shorter, and the work that each begins with more than all the rest.
 */
const PART_MS = 8;

/** What one request may take of it in all. On PostgreSQL it is the server that ends what takes longer. */
const LONGEST_MS = 5_000;

/** How long a request may wait for its turns among others. */
const LONGEST_WAIT_MS = 10_000;

/** Where a part of a list begins and ends. */
export interface PartPlace {
  /** The id that it begins behind; null for the beginning of the list. */
  readonly after: string | null;
  /** The last id that belongs to it; null where it goes to the end of the list. */
  readonly upto: string | null;
  /** How many parts came before it. */
  readonly earlier: number;
}

/**
 * Cuts a list into parts, so that no statement looks at more than some thousand records:
 * SQLite answers in the process that asks, and cannot be interrupted, so that one statement over
 * a million records would let everyone wait. Between two parts others are answered.
 *
 * Parts are bounded by ids, as pages are, and so they are good at any publication: where the cuts
 * are of an earlier one, the parts are only longer or shorter.
 *
 * On PostgreSQL a list is one part.
 */
export class ListParts {
  readonly #database: OpenDatabase;
  readonly #table: 'contracts' | 'suppliers' | 'solicitations';
  readonly #turns: Turns;
  /** In the order of the list. */
  #cuts: readonly string[] = [];
  #cutAt: string | null = null;
  #cutting: Promise<void> | null = null;

  /** @param turns shared by all lists of a server. */
  constructor(database: OpenDatabase, table: 'contracts' | 'suppliers' | 'solicitations', turns: Turns) {
    this.#database = database;
    this.#table = table;
    this.#turns = turns;
  }

  /** Makes the cuts anew, beside everything else, where a publication came since they were made. */
  notice(publishedAt: string): void {
    if (this.#cutAt === FIRST_CUT) this.#cutAt = publishedAt;
    if (this.#database.engine === 'postgres' || this.#cutting !== null || this.#cutAt === publishedAt) return;
    this.#cutting = this.#cut(publishedAt)
      // What asks next finds the same failure, and tells of it.
      .catch(() => undefined)
      .finally(() => (this.#cutting = null));
  }

  /** The parts of a list behind an id; null for all of it. */
  async begin(after: string | null, asking: Asking): Promise<PartWalk> {
    if (this.#cutAt === null) {
      this.notice(FIRST_CUT);
      await this.#cutting;
    }
    return new PartWalk(this.#cuts, after, asking, this.#turns);
  }

  async #cut(publishedAt: string): Promise<void> {
    const cuts: string[] = [];
    for (let last: string | null = ''; last !== null;) {
      const [next]: { id: string }[] = await this.#database.run<{ id: string }>(
        `cut of ${this.#table}`,
        () => sql<{ id: string }>`select id from ${sql.table(`catalog.${this.#table}`)} where id > ${slot('after')}
          order by id limit 1 offset ${limitSlot('between')}`,
        { after: last, between: RECORDS_BETWEEN_CUTS - 1 },
      );
      last = next?.id ?? null;
      if (last !== null && cuts.push(last) % CUTS_AT_ONCE === 0) await nextTurn();
    }
    this.#cuts = cuts;
    this.#cutAt = publishedAt;
  }
}

/** Goes from part to part of one list. */
export class PartWalk {
  readonly #cuts: readonly string[];
  readonly #after: string | null;
  readonly #asking: Asking;
  readonly #turns: Turns;
  readonly #refusedAtMs = performance.now() + LONGEST_WAIT_MS;
  #nextCut: number;
  #reach = FIRST_REACH;
  #usedMs = 0;
  #begunAtMs = processorMs();
  #place: PartPlace;

  constructor(cuts: readonly string[], after: string | null, asking: Asking, turns: Turns) {
    this.#cuts = cuts;
    this.#asking = asking;
    this.#turns = turns;
    this.#after = after;
    this.#nextCut = this.#firstCut();
    this.#place = { after, upto: this.#reachOut(), earlier: 0 };
  }

  get place(): PartPlace {
    return this.#place;
  }

  /**
   * Lets others be answered, and goes on behind the part.
   *
   * @throws ApiError where the client is gone, or others left too little time for it.
   * @throws Error where it took too long by itself.
   */
  async goOn(): Promise<void> {
    const tookMs = Math.max(0.1, processorMs() - this.#begunAtMs);
    this.#usedMs += tookMs;
    if (this.#usedMs > LONGEST_MS) throw new Error(`a list or a count took longer than ${LONGEST_MS} ms`);
    await this.#turns.next(this.#asking.partnerId);
    this.#asking.throwIfGone();
    if (performance.now() > this.#refusedAtMs) throw overloaded();
    this.#begunAtMs = processorMs();
    const reach = Math.floor(this.#reach * Math.min(GROWTH, PART_MS / tookMs));
    this.#reach = Math.max(1, Math.min(LONGEST_REACH, reach));
    this.#place = { after: this.#place.upto, upto: this.#reachOut(), earlier: this.#place.earlier + 1 };
  }

  /** Goes back to the first part. */
  beginAgain(): void {
    this.#nextCut = this.#firstCut();
    this.#place = { after: this.#after, upto: this.#reachOut(), earlier: 0 };
  }

  #firstCut(): number {
    return this.#after === null ? 0 : firstBehind(this.#cuts, this.#after);
  }

  #reachOut(): string | null {
    this.#nextCut += this.#reach;
    return this.#cuts[this.#nextCut - 1] ?? null;
  }
}

/** What this thread has used of the processor. */
function processorMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** The place of the first id behind another, in a sorted list. Ids are ASCII: their order is that of the databases. */
function firstBehind(ids: readonly string[], id: string): number {
  let low = 0;
  for (let high = ids.length; low < high;) {
    const middle = (low + high) >>> 1;
    if ((ids[middle] ?? '') <= id) low = middle + 1;
    else high = middle;
  }
  return low;
}
