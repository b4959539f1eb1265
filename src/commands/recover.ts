import { ImportLockedError } from '../publishing/lock.ts';
import { recover, type Recovery } from '../recovery/recover.ts';
import { CommandError } from './command-error.ts';
import type { CommandContext } from './context.ts';

/**
 * `pds recover`: lets the series of instants go on after history was lost.
 *
 * @param after an instant that partners may have seen, where the operator knows of one.
 */
export async function recoverDatabase(
  { database, clock, output }: CommandContext,
  after: string | undefined,
): Promise<undefined> {
  const recovery = await recover(database, {
    clock,
    ...(after !== undefined && { after }),
    onWaiting: () => output.note('An import is running: waiting for it, up to a minute.'),
  }).catch((error: unknown) => {
    throw error instanceof ImportLockedError ? new CommandError(error.message, { cause: error }) : error;
  });
  output.done({ ...jsonOfRecovery(recovery), newest_trace: recovery.newestTrace }, describeRecovery(recovery));
  if (recovery.newestTrace !== null) output.note(describeLostAccess(recovery.newestTrace));
}

export function jsonOfRecovery({ instant, lastEvent, records }: Recovery): object {
  return { recovered_at: instant, last_event: lastEvent, records };
}

export function describeRecovery({ instant, lastEvent, records }: Recovery): string {
  return (
    `Recovered at ${instant}: the last event known before was ${lastEvent === null ? 'none' : `at ${lastEvent}`}. ` +
    `All ${records} records count as changed, so that the next sync of every partner is given all that it may see.`
  );
}

/** @param since from when on it is not known what was done. */
export function describeLostAccess(since: string): string {
  return (
    `WARNING: partners, grants and keys are as of ${since}. What was done after it and is lost has to be done again. ` +
    'Above all: A KEY THAT WAS REVOKED SINCE IS GOOD AGAIN, a suspended partner is let in, and what was taken back is ' +
    'granted. Review "pds partner list" and "pds key list".'
  );
}
