import { existsSync, globSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** libfaketime, which intercepts a process's reads of the clock; undefined if it is not installed. */
const LIBRARY = globSync('/usr/lib/*/faketime/libfaketime.so.1').find((path) => existsSync(path));

/** Why these tests cannot run here, or null if they can. */
export function whyNoSteppedClock(): string | null {
  return LIBRARY === undefined ? 'libfaketime is missing: install Debian\'s package "faketime"' : null;
}

/** A wall clock that can be set while processes run; their monotonic clock is unaffected. */
export interface SteppedClock {
  /** Environment variables for a process that uses this clock. */
  readonly environment: Readonly<Record<string, string>>;
  /** Sets its offset from the machine's clock. */
  step(hours: number): void;
  /** The current time of this clock. */
  nowMs(): number;
  remove(): void;
}

export function createSteppedClock(): SteppedClock {
  const folder = mkdtempSync(join(tmpdir(), 'pds-clock-'));
  const file = join(folder, 'offset');
  let offsetHours = 0;
  const step = (hours: number): void => {
    offsetHours = hours;
    // Atomically: a process must not read half of it.
    writeFileSync(`${file}.new`, `${hours < 0 ? '-' : '+'}${Math.abs(hours)}h\n`);
    renameSync(`${file}.new`, file);
  };
  step(0);
  return {
    environment: {
      LD_PRELOAD: LIBRARY ?? '',
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      // The name in older versions.
      DONT_FAKE_MONOTONIC: '1',
    },
    step,
    nowMs: () => Date.now() + offsetHours * 3_600_000,
    remove: () => rmSync(folder, { recursive: true }),
  };
}
