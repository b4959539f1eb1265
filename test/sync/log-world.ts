import { addMilliseconds, DAY_MS, EPOCH, formatTimestamp, latestOf } from '../../src/timestamp.ts';
import {
  isKnown,
  isLost,
  listsEverything,
  pruned,
  pruningPoint,
  watermarkOf,
  whyComplete,
  type LogEvent,
} from './log-rules.ts';
import { COPIES, KINDS, PARTNERS, type Owner, type RecordKind, type Step } from './log-steps.ts';

/* A service reduced to its rules: records with owners, releases, departures, grants, and the log. */

const LEEWAY_MS = 5_000;
const STEP_MS = 2 * LEEWAY_MS;

interface Partner {
  readonly id: number;
  grants: Map<Owner, string>;
  everythingSince: string | null;
  kinds: readonly RecordKind[];
  suspendedAt: string | null;
  /** How often it may have lost sight of more than departures tell. */
  narrowings: number;
  /** The releases and resets during its suspension. */
  missedReleases: number;
}

/** The published records: what a rollback brings back. */
interface Catalog {
  /** By `kind id`. */
  readonly records: Map<string, { readonly owner: Owner; readonly changed: number }>;
  /** By `owner kind id`. */
  readonly departures: Map<string, number>;
  readonly releases: { readonly number: number; readonly at: string }[];
}

interface State {
  readonly catalog: Catalog;
  readonly log: LogEvent[];
  readonly partners: Partner[];
}

/** A client's copy, by the feed of changes and by lists, with all that makes a complete listing necessary. */
interface Copy {
  readonly partner: number;
  readonly feed: Map<string, number>;
  readonly list: Map<string, number>;
  since: string | null;
  /** The watermark of each list: a kind that the partner may not read keeps its own. */
  readonly listSince: Map<string, string>;
  narrowings: number;
  epoch: number;
}

export class LogWorld {
  #nowMs = Date.parse('2026-01-01T00:00:00.000Z');
  #state: State = {
    catalog: { records: new Map(), departures: new Map(), releases: [] },
    log: [],
    partners: [],
  };
  #backup: State | null = null;
  /** The catalog of each release that a rollback can return to. */
  #catalogs: Catalog[] = [];
  #mustRecover = false;
  /** Counts resets and losses: a copy of an earlier epoch must be read again. */
  #epoch = 0;
  #newestSeen = EPOCH;
  /** Events up to which removals were deleted. */
  #deletedUntil = EPOCH;
  #tokens = 0;
  #created = 0;
  readonly #copies: Copy[] = [];
  /** The last event that a process saw, and whether it is in the database. */
  #seen: LogEvent | null = null;
  #isSeenLost = false;
  /** Listings that were complete. */
  complete = 0;

  constructor() {
    for (let index = 0; index < PARTNERS; index += 1) this.#create(index);
  }

  run(steps: readonly Step[]): void {
    for (const step of steps) this.#take(step);
    if (this.#mustRecover) this.#take({ type: 'recover' });
    for (let index = 0; index < PARTNERS; index += 1) {
      if (this.#partner(index).suspendedAt !== null) this.#take({ type: 'suspend or resume', partner: index });
      for (let copy = 0; copy < COPIES; copy += 1) this.#take({ type: 'sync', partner: index, copy });
    }
    this.#take({ type: 'notice' });
  }

  #partner(index: number): Partner {
    const found = this.#state.partners[index];
    if (found === undefined) throw new Error('no partner');
    return found;
  }

  get #lastNumber(): number {
    return this.#state.log.at(-1)?.release ?? 0;
  }

  #append(event: Omit<LogEvent, 'at' | 'token' | 'release'>, after = EPOCH): string {
    const { log } = this.#state;
    this.#nowMs += STEP_MS;
    const last = latestOf(after, log.at(-1)?.at ?? EPOCH);
    const at = latestOf(formatTimestamp(this.#nowMs), addMilliseconds(last, 2));
    const release = this.#lastNumber + (event.partner_id === null ? 1 : 0);
    log.push({ ...event, at, token: String((this.#tokens += 1)), release });
    this.#newestSeen = latestOf(this.#newestSeen, at);
    return at;
  }

  #appendScope(one: Partner, narrows: string | null): string {
    if (narrows !== null) one.narrowings += 1;
    return this.#append({ what: 'scope', partner_id: one.id, narrows });
  }

  #create(index: number): void {
    const made: Partner = { id: (this.#created += 1), grants: new Map(), everythingSince: null, kinds: KINDS, suspendedAt: null, narrowings: 0, missedReleases: 0 }; // prettier-ignore
    this.#state.partners[index] = made;
    this.#appendScope(made, 'creation');
  }

  #take(step: Step): void {
    switch (step.type) {
      case 'release':
        this.#release(step.edits, step.days);
        return;
      case 'grant or revoke': {
        const one = this.#partner(step.partner);
        const granted = one.grants.get(step.owner);
        if (granted === undefined) {
          one.grants.set(step.owner, this.#appendScope(one, null));
        } else {
          one.grants.delete(step.owner);
          const isShownAnyway = one.everythingSince !== null && one.everythingSince <= granted;
          this.#appendScope(one, isShownAnyway ? null : 'revoked grant');
        }
        return;
      }
      case 'everything': {
        const one = this.#partner(step.partner);
        const at = this.#appendScope(one, one.everythingSince === null ? null : 'revoked grant');
        one.everythingSince = one.everythingSince === null ? at : null;
        return;
      }
      case 'kinds': {
        const one = this.#partner(step.partner);
        if (step.kinds.join() === one.kinds.join()) return;
        one.kinds = step.kinds;
        this.#appendScope(one, 'change of kinds');
        return;
      }
      case 'suspend or resume':
        this.#suspendOrResume(this.#partner(step.partner));
        return;
      case 'recreate':
        this.#create(step.partner);
        return;
      case 'key':
        this.#append({ what: 'key', partner_id: this.#partner(step.partner).id, narrows: null });
        return;
      case 'roll back':
        this.#rollBack(step.nth);
        return;
      case 'wait':
        this.#nowMs += step.days * DAY_MS;
        return;
      case 'back up':
        this.#backup = structuredClone(this.#state);
        return;
      case 'lose':
        this.#lose(step.isClockBack);
        return;
      case 'recover':
        this.#reset(this.#newestSeen);
        this.#mustRecover = false;
        return;
      case 'notice':
        this.#notice();
        return;
      case 'sync':
        this.#sync(step.partner, step.copy);
        return;
    }
  }

  #suspendOrResume(one: Partner): void {
    if (one.suspendedAt === null) {
      one.suspendedAt = this.#appendScope(one, null);
      one.missedReleases = 0;
      return;
    }
    const { log } = this.#state;
    const { suspendedAt } = one;
    const isLogged = log.some(({ at, what, partner_id }) => at === suspendedAt && what === 'scope' && partner_id === one.id); // prettier-ignore
    const narrows = !isLogged || log.some(({ at, partner_id }) => partner_id === null && at > suspendedAt);
    if (narrows !== one.missedReleases > 0) throw new Error('a resumption narrows if and only if something was missed');
    one.suspendedAt = null;
    this.#appendScope(one, narrows ? 'resumption' : null);
  }

  #published(): void {
    for (const one of this.#state.partners) one.missedReleases += 1;
  }

  #release(edits: Extract<Step, { type: 'release' }>['edits'], days: number | null): void {
    const { log, catalog } = this.#state;
    const before = formatTimestamp(this.#nowMs - (days ?? 0) * DAY_MS);
    const point = days === null ? null : pruningPoint(log, before);
    if (point !== null) {
      log.splice(0, log.length, ...pruned(log, before));
      for (const [key, number] of catalog.departures) if (number < point.release) catalog.departures.delete(key);
      this.#deletedUntil = latestOf(this.#deletedUntil, point.at);
    }
    const number = this.#lastNumber + 1;
    for (const { kind, id, owner: next } of edits) {
      const key = `${kind} ${id}`;
      const stored = catalog.records.get(key);
      if (stored !== undefined && stored.owner !== next) {
        catalog.departures.set(`${stored.owner} ${key}`, number);
        if (next === null) catalog.departures.set(`everything ${key}`, number);
      }
      if (next === null) catalog.records.delete(key);
      else catalog.records.set(key, { owner: next, changed: number });
    }
    const at = this.#append({ what: 'release', partner_id: null, narrows: null }, catalog.releases.at(-1)?.at);
    catalog.releases.push({ number, at });
    this.#catalogs.push(structuredClone(catalog));
    this.#published();
  }

  #reset(after = EPOCH): void {
    this.#append({ what: 'reset', partner_id: null, narrows: null }, after);
    this.#epoch += 1;
    this.#published();
  }

  #rollBack(nth: number): void {
    const catalog = this.#catalogs.at(-1 - nth);
    if (catalog === undefined) return;
    this.#state = { ...this.#state, catalog: structuredClone(catalog) };
    this.#reset();
  }

  /** A replica that lags is promoted, or a backup restored: the last changes are gone. */
  #lose(isClockBack: boolean): void {
    if (this.#backup === null) return;
    this.#state = structuredClone(this.#backup);
    const { log, catalog } = this.#state;
    this.#catalogs = [structuredClone(catalog)];
    // With the clock set back, the times of lost events are used again.
    if (isClockBack) this.#nowMs = Date.parse(log.at(-1)?.at ?? EPOCH);
    this.#epoch += 1;
    this.#mustRecover = true;
    for (const one of this.#state.partners) one.narrowings += 1;
    const seen = this.#seen;
    this.#isSeenLost ||= seen !== null && !log.some(({ token }) => token === seen.token);
  }

  /** Whether a process notices that what it saw is lost, and raises no false alarm. */
  #notice(): void {
    const { log } = this.#state;
    if (this.#seen !== null) {
      const { at } = this.#seen;
      const isFound = isLost(log, this.#seen);
      // Older than what was deleted, nothing can be said.
      if (at >= this.#deletedUntil && isFound !== this.#isSeenLost)
        throw new Error(`the event at ${at} ${this.#isSeenLost ? 'is lost, unnoticed' : 'is not lost'}`);
    }
    this.#seen = log.at(-1) ?? null;
    this.#isSeenLost = false;
  }

  /** The records that a partner sees, each with the release that changed it last. */
  #visible({ grants, everythingSince, kinds }: Partner): Map<string, number> {
    const visible = new Map<string, number>();
    for (const [key, { owner: owned, changed }] of this.#state.catalog.records) {
      const isOfKind = (kinds as readonly string[]).includes(key.split(' ')[0] ?? '');
      if (isOfKind && (everythingSince !== null || grants.has(owned))) visible.set(key, changed);
    }
    return visible;
  }

  /** The records that changed or became visible since a timestamp. */
  #changedSince(one: Partner, since: string): Map<string, number> {
    const { catalog } = this.#state;
    const first = catalog.releases.findLast(({ at }) => at < since)?.number ?? 0;
    const isNew = (granted: string | null | undefined): boolean => granted != null && granted >= since;
    return new Map(
      [...this.#visible(one)].filter(([key, changed]) => {
        const owned = catalog.records.get(key)?.owner ?? 'a';
        const becameVisible = one.everythingSince === null ? isNew(one.grants.get(owned)) : isNew(one.everythingSince);
        return changed > first || becameVisible;
      }),
    );
  }

  /** The records that a partner lost since a timestamp, by the departures of owners that were granted before. */
  #removedSince(one: Partner, since: string): string[] {
    const { catalog } = this.#state;
    const visible = this.#visible(one);
    return [...catalog.departures].flatMap(([text, number]) => {
      const [left, ...key] = text.split(' ');
      const granted = left === 'everything' ? one.everythingSince : (one.grants.get(left as Owner) ?? null);
      const at = catalog.releases.find((release) => release.number === number)?.at ?? EPOCH;
      return granted !== null && granted < at && at >= since && !visible.has(key.join(' ')) ? [key.join(' ')] : [];
    });
  }

  #sync(index: number, nth: number): void {
    const one = this.#partner(index);
    const { id: partner, suspendedAt } = one;
    if (suspendedAt !== null) return;
    const stored = this.#copies[index * COPIES + nth];
    const copy: Copy =
      stored?.partner === partner
        ? stored
        : { partner, feed: new Map(), list: new Map(), since: null, listSince: new Map(), narrowings: 0, epoch: 0 };
    this.#copies[index * COPIES + nth] = copy;
    const { log } = this.#state;
    const { since } = copy;
    const why = since === null ? 'first' : whyComplete(log, one.id, since);
    if (since !== null && why !== null) {
      this.complete += 1;
      const isNeeded = copy.epoch < this.#epoch || copy.narrowings < one.narrowings || since <= this.#deletedUntil;
      if (!isNeeded) throw new Error(`a listing since ${since} was complete for nothing: ${why}`);
    }
    if (why !== null) copy.feed.clear();
    const removed = why === null ? this.#removedSince(one, since ?? EPOCH) : [];
    for (const key of removed) copy.feed.delete(key);
    for (const kind of one.kinds) {
      const asked = copy.listSince.get(kind) ?? EPOCH;
      const from = isKnown(log, one.id, asked) || asked === EPOCH ? asked : addMilliseconds(asked, -LEEWAY_MS);
      const listed = listsEverything(log, from) ? this.#visible(one) : this.#changedSince(one, from);
      for (const [key, number] of listed) if (key.startsWith(kind)) copy.list.set(key, number);
      copy.listSince.set(kind, watermarkOf(log, one.id));
    }
    const asked = since ?? EPOCH;
    const changed = why === null ? this.#changedSince(one, asked) : this.#visible(one);
    for (const [key, number] of changed) copy.feed.set(key, number);
    copy.since = watermarkOf(log, one.id);
    copy.epoch = this.#epoch;
    copy.narrowings = one.narrowings;
    this.#newestSeen = latestOf(this.#newestSeen, copy.since);
    // Until the recovery, no client can be right.
    if (this.#mustRecover) return;
    const visible = this.#visible(one);
    for (const key of copy.feed.keys()) if (!(one.kinds as readonly string[]).includes(key.split(' ')[0] ?? '')) copy.feed.delete(key); // prettier-ignore
    if (JSON.stringify([...visible].sort()) !== JSON.stringify([...copy.feed].sort()))
      throw new Error(`the copy since ${String(since)} has ${[...copy.feed].sort().join(' ')}, not ${[...visible].sort().join(' ')}`); // prettier-ignore
    for (const [key, number] of visible)
      if (copy.list.get(key) !== number) throw new Error(`the lists since ${String(since)} lack ${key} of ${number}`);
  }
}
