import { ImportLockedError } from '../publishing/lock.ts';
import { previewRecovery, recover, type Recovery, type RecoveryPreview } from '../recovery/recover.ts';
import { CommandError } from './command-error.ts';
import type { CommandContext } from './context.ts';
import { ask } from './question.ts';

export interface RecoverCommandOptions {
  /** A timestamp that partners may have seen, if the operator knows of one. */
  readonly after: string | undefined;
  /** Reports without changing anything. */
  readonly isDryRun: boolean;
  /** Skips the prompt. */
  readonly isConfirmed: boolean;
}

/**
 * `pds recover`: makes the service consistent for clients again after its database lost changes. Prompts before
 * changing anything, unless confirmed.
 *
 * @returns the exit code: 1 if the operator declined.
 */
export async function recoverDatabase(
  { database, clock, output }: CommandContext,
  { after, isDryRun, isConfirmed }: RecoverCommandOptions,
): Promise<number> {
  if (isDryRun || !isConfirmed) {
    const preview = await previewRecovery(database);
    const lines = describePreview(preview);
    if (isDryRun) {
      const { lastEvent, newestTrace, records } = preview;
      const json = { dry_run: true, recovered_at: null, last_event: lastEvent, records, newest_trace: newestTrace };
      output.done(json, [...lines, 'A dry run: nothing was changed.']);
      return 0;
    }
    output.note(lines);
    if (!(await ask(output, 'Recover now?'))) {
      output.note('Nothing was changed.');
      if (output.isJson) output.result({ error: { message: 'the answer was no; nothing was changed' } }, '');
      return 1;
    }
  }
  const recovery = await recover(database, {
    clock,
    ...(after !== undefined && { after }),
    onWaiting: () => output.note('An import is running: waiting for it, up to a minute.'),
  }).catch((error: unknown) => {
    throw error instanceof ImportLockedError ? new CommandError(error.message, { cause: error }) : error;
  });
  output.done({ ...jsonOfRecovery(recovery), newest_trace: recovery.newestTrace }, describeRecovery(recovery));
  if (recovery.newestTrace !== null) output.note(describeLostAccess(recovery.newestTrace));
  return 0;
}

function describePreview({ lastEvent, newestTrace, records }: RecoveryPreview): string[] {
  if (lastEvent === null && records === 0)
    return ['This database has no publications or grants yet: there is nothing to recover.'];
  return [
    `The last event that this database knows of was ${lastEvent === null ? 'none' : `at ${lastEvent}`}. A recovery draws a ` +
      `timestamp after it, and all ${records} records count as changed from then on: the next sync of every partner reads ` +
      'all that it may see once more. It cannot be undone.',
    ...(newestTrace === null
      ? []
      : [`Partners, grants and keys are as of ${newestTrace}; a recovery leaves them as they are.`]),
  ];
}

export function jsonOfRecovery({ timestamp, lastEvent, records }: Recovery): object {
  return { recovered_at: timestamp, last_event: lastEvent, records };
}

export function describeRecovery({ timestamp, lastEvent, records }: Recovery): string {
  return (
    `Recovered at ${timestamp}: the last event known before was ${lastEvent === null ? 'none' : `at ${lastEvent}`}. ` +
    `All ${records} records count as changed, so that the next sync of every partner is given all that it may see.`
  );
}

/** @param since changes after this timestamp may be lost. */
export function describeLostAccess(since: string): string {
  return (
    `WARNING: partners, grants and keys are as of ${since}. What was done after it and is lost has to be done again. ` +
    'Above all: A KEY THAT WAS REVOKED SINCE IS GOOD AGAIN, a suspended partner is let in, and what was taken back is ' +
    'granted. Review "pds partner list" and "pds key list".'
  );
}
