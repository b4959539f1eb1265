import { existsSync, globSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** libfaketime, which stands between a process and the time of day; undefined where it is not installed. */
const LIBRARY = globSync('/usr/lib/*/faketime/libfaketime.so.1').find((path) => existsSync(path));

/** Why these tests cannot run here; null where they can. */
export function whyNoSteppedClock(): string | null {
  return LIBRARY === undefined ? 'libfaketime is missing: install Debian\'s package "faketime"' : null;
}

/** A time of day that can be set while processes run; the time that only rises goes on for them as it is. */
export interface SteppedClock {
  /** For the environment of a process that is to have this clock. */
  readonly environment: Readonly<Record<string, string>>;
  /** Sets it so far before or after the machine's. */
  step(hours: number): void;
  /** The time by this clock. */
  nowMs(): number;
  remove(): void;
}

export function createSteppedClock(): SteppedClock {
  const folder = mkdtempSync(join(tmpdir(), 'pds-clock-'));
  const file = join(folder, 'offset');
  let offsetHours = 0;
  const step = (hours: number): void => {
    offsetHours = hours;
    // At once: a process must not read half of it.
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
      // Older versions know it by this name.
      DONT_FAKE_MONOTONIC: '1',
    },
    step,
    nowMs: () => Date.now() + offsetHours * 3_600_000,
    remove: () => rmSync(folder, { recursive: true }),
  };
}
