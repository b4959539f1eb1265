import { addMilliseconds, EPOCH } from '../../src/timestamp.ts';

/*
 * The rules of the log of events, by plain loops over its rows: a second implementation, to compare the statements of the
 * service with, and to show with random histories that the rules lose no removal.
 */

/** A row of `access.events`. */
export interface LogEvent {
  readonly at: string;
  readonly token: string;
  readonly what: 'release' | 'reset' | 'scope' | 'partner' | 'key';
  /** Null for releases and resets. */
  readonly partner_id: number | null;
  /** Why the partner may see less than departures tell; null if it does not. */
  readonly narrows: string | null;
  /** The number of the last release or reset, this one included. */
  readonly release: number;
}

type Log = readonly LogEvent[];

/** A release or a reset. */
const isRelease = ({ partner_id: partnerId }: LogEvent): boolean => partnerId === null;

const isScopeOf = (partner: number, { what, partner_id: partnerId }: LogEvent): boolean =>
  what === 'scope' && partnerId === partner;

const lastOf = (log: Log, which: (event: LogEvent) => boolean): LogEvent | null => log.findLast(which) ?? null;

/** The timestamp of the last reset; the epoch before the first. */
const lastReset = (log: Log): string => lastOf(log, ({ what }) => what === 'reset')?.at ?? EPOCH;

/** One millisecond after the last event that changes what a partner sees; the epoch before the first. */
export function watermarkOf(log: Log, partner: number): string {
  const last = lastOf(log, (event) => isRelease(event) || isScopeOf(partner, event));
  return last === null ? EPOCH : addMilliseconds(last.at, 1);
}

/** Whether a timestamp is a watermark of this partner since which no removal was deleted. */
export function isKnown(log: Log, partner: number, watermark: string): boolean {
  const at = addMilliseconds(watermark, -1);
  const event = log.find((candidate) => candidate.at === at);
  if (event === undefined || !(isRelease(event) || isScopeOf(partner, event))) return false;
  const next = log.find((candidate) => isRelease(candidate) && candidate.at > at);
  return next === undefined || next.release === event.release + 1;
}

/** Why a listing of changes since a timestamp has every record; null if changes and removals are enough. */
export function whyComplete(
  log: Log,
  partner: number,
  watermark: string,
): 'unknown_watermark' | 'catalog' | 'partner' | null {
  if (!isKnown(log, partner, watermark)) return 'unknown_watermark';
  if (lastReset(log) >= watermark) return 'catalog';
  const narrowed = lastOf(log, (event) => isScopeOf(partner, event) && event.narrows !== null);
  return narrowed !== null && narrowed.at >= watermark ? 'partner' : null;
}

/** The last time since which a listing of changes can have every record. */
export function completeUpTo(log: Log, partner: number): string {
  const releases = log.filter(isRelease);
  const gap = releases.findLast(({ release }, index) => release > 1 + (releases[index - 1]?.release ?? 0));
  const narrowed = lastOf(log, (event) => isScopeOf(partner, event) && event.narrows !== null);
  return [lastReset(log), gap?.at ?? EPOCH, narrowed?.at ?? EPOCH].reduce((one, other) => (one > other ? one : other));
}

/** Whether a list of what changed since a timestamp has every record. */
export function listsEverything(log: Log, since: string): boolean {
  return since <= lastReset(log);
}

/** Whether an event that a process saw is missing. */
export function isLost(log: Log, { at, token }: Pick<LogEvent, 'at' | 'token'>): boolean {
  if (log.some((event) => event.at === at && event.token === token)) return false;
  const next = log.find((event) => isRelease(event) && event.at > at);
  const before = lastOf(log, (event) => isRelease(event) && event.at <= at);
  // A gap in the numbers is where events were deleted.
  return next === undefined || next.release <= (before?.release ?? 0) + 1;
}

/** The event before which others are deleted, if those of releases before a timestamp are. */
export function pruningPoint(log: Log, before: string): LogEvent | null {
  return lastOf(log, (event) => isRelease(event) && event.at < before);
}

/** The events that remain. */
export function pruned(log: Log, before: string): LogEvent[] {
  const point = pruningPoint(log, before);
  if (point === null) return [...log];
  const partners = new Set(log.map(({ partner_id: partnerId }) => partnerId));
  const kept = new Set<LogEvent | null>([lastOf(log, ({ what }) => what === 'reset')]);
  for (const partner of partners) {
    if (partner === null) continue;
    kept.add(lastOf(log, (event) => isScopeOf(partner, event)));
    kept.add(lastOf(log, (event) => isScopeOf(partner, event) && event.narrows !== null));
  }
  return log.filter((event) => event.at >= point.at || kept.has(event));
}
