import { InvalidArgumentError } from 'commander';
import { KINDS, type Kind } from '../access/scope.ts';
import { integer } from '../config.ts';
import { INDEXED_KINDS, type IndexedKind } from '../index/terms.ts';
import { formatTimestamp, parseTimestamp } from '../timestamp.ts';

const UNIT_MS = { d: 86_400_000, h: 3_600_000, m: 60_000 };

// A century: longer than any key's lifetime, and far from the end of the calendar.
const MAX_DURATION_MS = 36_500 * UNIT_MS.d;

/**
 * Parses a duration such as `365d`, `12h` or `30m` into milliseconds.
 *
 * @throws InvalidArgumentError, which Commander reports as a usage error.
 */
export function parseDurationMs(text: string): number {
  const match = /^(\d{1,8})([dhm])$/.exec(text);
  const durationMs = Number(match?.[1]) * UNIT_MS[(match?.[2] ?? 'd') as keyof typeof UNIT_MS];
  if (match === null || durationMs > MAX_DURATION_MS) {
    throw new InvalidArgumentError('It must be days, hours or minutes, such as 365d, 12h or 30m, up to 36500d.');
  }
  return durationMs;
}

/** The same as `parseDurationMs`, but refuses zero. */
export function parseLifetimeMs(text: string): number {
  const lifetimeMs = parseDurationMs(text);
  if (lifetimeMs === 0) throw new InvalidArgumentError('A key that expires at once is of no use.');
  return lifetimeMs;
}

// Commander treats a parsed null as an option without a value, so the words for "no own setting" stay words.

/** Requests per minute, or `default`. */
export function parsePerMinute(text: string): number | 'default' {
  if (text === 'default') return text;
  const number = integer(text, 1, 1_000_000);
  if (number === undefined)
    throw new InvalidArgumentError('It must be a whole number from 1 to 1000000, or "default".');
  return number;
}

/** Comma-separated kinds of resource, or `all`. */
export function parseKinds(text: string): Kind[] | 'all' {
  if (text === 'all') return text;
  const names = text.split(',').map((name) => name.trim());
  if (!names.every((name) => (KINDS as readonly string[]).includes(name))) {
    throw new InvalidArgumentError(`It must be "all", or some of ${KINDS.join(',')}.`);
  }
  return KINDS.filter((kind) => names.includes(kind));
}

/** A number of days, including today. */
export function parseDays(text: string): number {
  const days = integer(text, 1, 36_500);
  if (days === undefined) throw new InvalidArgumentError('It must be a whole number from 1 to 36500.');
  return days;
}

/** A port to listen on; 0 lets the system choose. */
export function parsePort(text: string): number {
  const port = integer(text, 0, 65_535);
  if (port === undefined) throw new InvalidArgumentError('It must be a whole number from 0 to 65535.');
  return port;
}

/** A number of processes. */
export function parseWorkers(text: string): number {
  const workers = integer(text, 1, 64);
  if (workers === undefined) throw new InvalidArgumentError('It must be a whole number from 1 to 64.');
  return workers;
}

/**
 * A timestamp that the next one must exceed. At most a day in the future: until then, publications and grants would be
 * dated later than the clock.
 */
export function parseAfter(text: string): string {
  const timestamp = parseTimestamp(text);
  if (timestamp === null) throw new InvalidArgumentError('It must be an instant such as 2026-04-15T09:00:00Z.');
  if (timestamp > formatTimestamp(Date.now() + UNIT_MS.d)) {
    throw new InvalidArgumentError('It must not be more than a day from now: the series goes on after it.');
  }
  return timestamp;
}

/** Collects the values of a repeatable option. */
export function collect(value: string, previous: readonly string[] = []): string[] {
  return [...previous, value];
}

/** Collects indexed kinds. */
export function collectIndexedKind(text: string, previous: readonly IndexedKind[] = []): IndexedKind[] {
  const kind = INDEXED_KINDS.find((name) => name === text);
  if (kind === undefined) throw new InvalidArgumentError(`It must be one of ${INDEXED_KINDS.join(', ')}.`);
  return [...new Set([...previous, kind])];
}
