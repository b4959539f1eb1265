import type { CarriedOver, Gone } from '../recovery/carry-over.ts';
import { restore, type RestoreReport } from '../recovery/restore.ts';
import { sqlitePath } from './backup.ts';
import { configOfProcess } from './context.ts';
import { operatorOfProcess } from './operator.ts';
import { processOutput, type Output } from './output.ts';
import { startProgress } from './progress.ts';
import { describeLostAccess, describeRecovery, jsonOfRecovery } from './recover.ts';

const STEPS = {
  checking: 'Checking the backup',
  copying: 'Copying',
  recovering: 'Recovering',
  replacing: 'Putting in place',
};

/**
 * `pds restore`: replaces a SQLite database with a backup.
 *
 * @param after a timestamp that partners may have seen, if the operator knows of one.
 */
export async function restoreDatabase(
  isJson: boolean,
  directory: string,
  after: string | undefined,
): Promise<undefined> {
  const config = configOfProcess();
  const path = sqlitePath(config, 'pg_restore, or recovery to a point in time');
  const output = processOutput(isJson);
  const progress = startProgress(output, 'Interrupted; nothing was restored.');
  const report = await restore(path, directory, {
    clock: Date.now,
    operator: operatorOfProcess(config),
    ...(after !== undefined && { after }),
    onProgress: (step, done, total) => progress.show(STEPS[step], done, total),
  }).finally(progress.stop);
  const { manifest, migrations, recovery, kept, replaced } = report;
  output.done(
    {
      made_at: manifest.made_at,
      ...(report.dropped.length > 0 && { dropped: report.dropped }),
      migrations,
      ...jsonOfRecovery(recovery),
      ...(kept !== null && { carried_over: jsonOfCarried(kept.carriedOver), gone: kept.gone }),
      replaced,
    },
    `Restored ${path} as of ${manifest.made_at}. ${describeRecovery(recovery)}`,
  );
  noteWhatFollows(report, output);
}

function noteWhatFollows(
  { manifest, dropped, migrations, kept, replaced, isLockUncertain }: RestoreReport,
  output: Output,
): void {
  if (dropped.length > 0) {
    output.note(
      `WARNING: the backup held what this service does not make, and it was dropped: ${dropped.join(', ')}. ` +
        'Find out who changed the backup, and whether its partners, keys and grants are what they should be.',
    );
  }
  if (migrations.length > 0) output.note(`Migrated: ${migrations.join(', ')}.`);
  if (kept === null) {
    output.note('The replaced database could not be read, or there was none, or it was another one.');
    output.note(describeLostAccess(manifest.made_at));
  } else {
    for (const line of [...linesOfCarried(kept.carriedOver), ...linesOfGone(kept.gone)]) output.note(line);
  }
  if (isLockUncertain) {
    output.note(
      'WARNING: the replaced database was too damaged to tell whether a process had it open: restart all that use it.',
    );
  }
  if (replaced.length > 0) {
    output.note(`The replaced database is kept: ${replaced.join(', ')}. Remove it when you do not need it any more.`);
  }
}

function linesOfCarried(carried: CarriedOver): string[] {
  return [
    lineOf('Keys revoked since the backup, which stay revoked', carried.revokedKeys),
    lineOf('Keys that were to expire sooner, and still are', carried.shortenedKeys),
    lineOf('Partners suspended since the backup, which stay suspended', carried.suspendedPartners),
    lineOf('Partners limited to fewer kinds since the backup, which stay limited', carried.narrowedPartners),
    lineOf('Grants taken back since the backup, which stay taken back', carried.revokedGrants),
  ].flat();
}

function linesOfGone(gone: Gone): string[] {
  return [
    lineOf('GONE, to be created again: partners', gone.partners),
    lineOf('GONE, to be issued anew: keys', gone.keys),
    lineOf('GONE, to be granted again', gone.grants),
  ].flat();
}

function lineOf(heading: string, items: readonly string[]): string[] {
  return items.length === 0 ? [] : [`${heading}: ${items.join(', ')}.`];
}

function jsonOfCarried(carried: CarriedOver): object {
  return {
    revoked_keys: carried.revokedKeys,
    shortened_keys: carried.shortenedKeys,
    suspended_partners: carried.suspendedPartners,
    narrowed_partners: carried.narrowedPartners,
    revoked_grants: carried.revokedGrants,
  };
}
