import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findInstalled } from '../support/installed-programs.ts';

/** A wall clock that can be set while processes run; their monotonic clock is unaffected. */
export function createSteppedClock() {
  const folder = mkdtempSync(join(tmpdir(), 'pds-clock-'));
  const file = join(folder, 'offset');
  let offsetHours = 0;
  /** Sets its offset from the machine's clock. */
  const step = (hours: number): void => {
    offsetHours = hours;
    // Atomically: a process must not read half of it.
    writeFileSync(`${file}.new`, `${hours < 0 ? '-' : '+'}${Math.abs(hours)}h\n`);
    renameSync(`${file}.new`, file);
  };
  step(0);
  return {
    /** Environment variables for a process that uses this clock. */
    environment: {
      // It intercepts a process's reads of the clock.
      LD_PRELOAD: findInstalled('faketime') ?? '',
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      // The name in older versions.
      DONT_FAKE_MONOTONIC: '1',
    },
    step,
    /** The current time of this clock. */
    nowMs: () => Date.now() + offsetHours * 3_600_000,
    remove: () => rmSync(folder, { recursive: true }),
  };
}
