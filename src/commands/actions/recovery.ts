import type { Config } from '../../config.ts';
import { readLoss } from '../../database/postgres/timeline.ts';
import { OperatorError } from '../../operator-error.ts';
import { backUpDated, backup, type BackupOptions } from '../../recovery/backup.ts';
import { readTraces, recordPromotion, recover, type Recovery, type Traces } from '../../recovery/recover.ts';
import { restore, type RestoreReport } from '../../recovery/restore.ts';
import { listKeptReleases, type ListedRelease, rollback } from '../../recovery/rollback.ts';
import { canAsk } from '../command-line.ts';
import { operatorOfProcess, type CommandContext } from '../context.ts';
import { confirm, startProgress } from '../output/progress.ts';
import { renderColumns, type Output } from '../output/output.ts';
import { configOfProcess } from '../run-command.ts';
import { pathOf } from '../../database/configured.ts';

const STEPS = {
  copying: 'Copying',
  checking: 'Checking the backup',
  recovering: 'Recovering',
  replacing: 'Replacing the database',
};

const WAITING = 'Waiting up to a minute for a running import to finish.';

/** `pds backup`: copies a consistent snapshot of a SQLite database into a new folder. */
export async function backupDatabase(
  output: Output,
  target: string,
  { keep }: { readonly keep?: number },
): Promise<undefined> {
  const path = sqlitePath(configOfProcess(), 'pg_dump, or pg_basebackup with WAL archiving');
  const progress = startProgress(output, 'Interrupted; no backup was made.');
  const options: BackupOptions = {
    clock: Date.now,
    onProgress: (step, done, total) => progress.show(STEPS[step], done, total),
    onWaiting: () => output.note(WAITING),
  };
  const backingUp =
    keep === undefined
      ? backup(path, target, options).then((manifest) => ({ directory: target, manifest, removed: [] }))
      : backUpDated(path, target, keep, options);
  const { directory, manifest: made, removed } = await backingUp.finally(progress.stop);
  const megabytes = (made.files.catalog.bytes + made.files.access.bytes) / 1e6;
  output.done(
    { directory, ...made, ...(keep !== undefined && { removed }) },
    `Backed up ${path} to ${directory}: ${megabytes.toFixed(1)} MB, last event at ${made.last_event}. ` +
      'It contains the digests of keys and the secret of cursors: store it where only operators can read it.' +
      (removed.length > 0 ? ` Removed ${removed.join(', ')}.` : ''),
  );
}

interface RestoreOptions {
  readonly access?: boolean;
  readonly after?: string;
  readonly yes?: boolean;
}

/** `pds restore`: replaces a SQLite database with a backup. Prompts before it replaces one, unless confirmed. */
export async function restoreDatabase(
  output: Output,
  directory: string,
  { access: withAccess = false, after, yes: isConfirmed = false }: RestoreOptions,
): Promise<undefined> {
  const config = configOfProcess();
  const path = sqlitePath(config, 'pg_restore, or point-in-time recovery');
  const progress = startProgress(output, 'Interrupted; nothing was restored.');
  const report = await restore(path, directory, {
    clock: Date.now,
    operator: operatorOfProcess(config),
    withAccess,
    ...(after !== undefined && { after }),
    ...(!isConfirmed && { confirm: confirmRestore(output, path, withAccess) }),
    onWaiting: () => output.note(WAITING),
    onProgress: (step, done, total) => progress.show(STEPS[step], done, total),
  }).finally(progress.stop);
  const { manifest, migrations, recovery, access, replaced } = report;
  output.done(
    {
      made_at: manifest.made_at,
      ...(report.dropped.length > 0 && { dropped: report.dropped }),
      migrations,
      recovered_at: recovery.timestamp,
      last_event: recovery.lastEvent,
      ...(access !== null && {
        suspended_partners: access.suspended,
        suspended_before: access.suspendedBefore,
        kept_history: access.hasKeptHistory,
      }),
      replaced,
    },
    `Restored ${path} as of ${manifest.made_at}. ${describeRecovery(recovery)}`,
  );
  noteWhatFollows(report, output);
}

/** Makes the question before a restore, which throws an OperatorError if there is no terminal to ask on. */
function confirmRestore(output: Output, path: string, withAccess: boolean) {
  return async ({ made_at, last_event }: RestoreReport['manifest'], lastEvent: string | null): Promise<void> => {
    const lost = `${path} (${lastEvent === null ? 'no event can be read' : `last event at ${lastEvent}`})`;
    const effect = `restore replaces ${lost} with the backup of ${made_at} (last event at ${last_event})`;
    if (!canAsk()) {
      throw new OperatorError(`this ${effect}, and there is no terminal to confirm it on. Add --yes to confirm it`);
    }
    output.note([
      `This ${effect}.`,
      withAccess
        ? 'Later imports, partners, keys and grants are lost, and every partner is suspended until you resume it. The ' +
          'replaced files stay beside the restored ones.'
        : 'Later imports are lost. Partners, keys and grants stay as they are. "pds rollback" undoes it. The database can be in use.',
    ]);
    await confirm(output, 'Restore now?');
  };
}

/** @throws OperatorError if the database is PostgreSQL, naming its tools for the purpose. */
function sqlitePath({ database }: Config, tools: string): string {
  const path = pathOf(database);
  if (path !== null) return path;
  throw new OperatorError(
    `this command is for SQLite. For PostgreSQL use ${tools}. docs/operators/backup-and-recovery.md describes how, and ` +
      'what to do after a restore ("pds recover")',
  );
}

function noteWhatFollows(
  { manifest, dropped, migrations, access, replaced, isLockUncertain }: RestoreReport,
  output: Output,
): void {
  if (dropped.length > 0) {
    output.note(
      `WARNING: the backup contained objects that this service does not create; they were dropped: ${dropped.join(', ')}. ` +
        'Find out who changed the backup, and review its partners, keys and grants.',
    );
  }
  if (migrations.length > 0) output.note(`Migrated: ${migrations.join(', ')}.`);
  if (access !== null) {
    output.note(
      `Partners, keys and grants are as of ${manifest.made_at}; what was revoked since is unknown. So every partner is ` +
        'suspended: review "pds partner list", "pds key list" and "pds audit", then run "pds partner resume NAME" or "--all".',
    );
    if (access.suspendedBefore.length > 0)
      output.note(`Suspended in the backup already, and resumed by "--all" too: ${access.suspendedBefore.join(', ')}.`);
    if (!access.hasKeptHistory)
      output.note('Audit and usage since then are lost: the replaced database was missing, unreadable or another one.');
  }
  if (isLockUncertain) {
    output.note(
      'WARNING: the replaced database was too damaged to check for processes that use it: restart all that do.',
    );
  }
  if (replaced.length > 0) {
    output.note(`Replaced files were moved to: ${replaced.join(', ')}. Remove them when you no longer need them.`);
  }
}

/** `pds releases`: lists releases and resets, the newest first. */
export async function listDatabaseReleases(
  { database, output }: CommandContext,
  { limit }: { readonly limit: number },
): Promise<undefined> {
  const releases = await listKeptReleases(database, limit);
  const stateOf = ({ isCurrent, isKept, file }: ListedRelease): string => {
    if (!isCurrent) return isKept ? 'kept' : '';
    return isKept || file === null ? 'current' : 'missing';
  };
  const rows = releases.map((listed) => [
    String(listed.release),
    listed.at,
    listed.what,
    listed.made_from === null ? '' : String(listed.made_from),
    stateOf(listed),
  ]);
  output.result(
    { releases: releases.map(({ file: _, ...listed }) => listed) },
    releases.length === 0
      ? 'There is no release yet.'
      : renderColumns([['RELEASE', 'AT', 'WHAT', 'MADE FROM', 'CATALOG'], ...rows]),
  );
}

/** `pds rollback`: goes back to the catalog of an earlier release. Prompts before that, unless confirmed. */
export async function rollbackDatabase(
  { database, clock, output }: CommandContext,
  release: number | undefined,
  { yes: isConfirmed = false }: { readonly yes?: boolean },
): Promise<undefined> {
  const { timestamp, from, to } = await rollback(database, {
    clock,
    ...(release !== undefined && { release }),
    onWaiting: () => output.note(WAITING),
    confirm: async (planned) => {
      if (isConfirmed) return;
      output.note(
        `This goes back from release ${planned.from} to ${planned.to}. Every partner's next sync then reads everything ` +
          'that it can see.',
      );
      await confirm(output, 'Roll back now?');
    },
  });
  output.done(
    { rolled_back_at: timestamp, from, to },
    `Rolled back from release ${from} to ${to} at ${timestamp}. Every partner's next sync reads everything that it can ` +
      `see. Undo it with "pds rollback ${from}".`,
  );
}

export interface RecoverOptions extends Omit<RestoreOptions, 'access'> {
  readonly nothingLost?: boolean;
}

/**
 * `pds recover`: makes the service consistent for clients again after its database lost changes. Prompts before
 * changing anything, unless confirmed.
 */
export async function recoverDatabase(
  { database, clock, output }: CommandContext,
  { after, nothingLost: isNothingLost = false, yes: isConfirmed = false }: RecoverOptions,
): Promise<undefined> {
  if (isNothingLost) {
    const isRecorded = await recordPromotion(database, clock);
    const text = isRecorded
      ? 'Recorded that the server was promoted without losing anything. No partner reads anything again.'
      : 'There is nothing to do: the server was not promoted since the last recovery.';
    output.done({ recorded: isRecorded }, text);
    const loss = await readLoss(database);
    if (loss !== null)
      output.note(
        `WARNING: a service noticed at ${loss.noticedAt} that changes are lost. Run "pds recover" without --nothing-lost.`,
      );
    return;
  }
  if (!isConfirmed) {
    output.note(describeTraces(await readTraces(database)));
    await confirm(output, 'Recover now?');
  }
  const recovery = await recover(database, {
    clock,
    ...(after !== undefined && { after }),
    onWaiting: () => output.note(WAITING),
  });
  const { timestamp, lastEvent, newestTrace } = recovery;
  output.done({ recovered_at: timestamp, lastEvent, newestTrace }, describeRecovery(recovery));
  if (newestTrace === null) return;
  output.note(
    `WARNING: partners, grants and keys are as of ${newestTrace}. Later changes may be lost and must be made ` +
      'again: A KEY REVOKED SINCE THEN WORKS AGAIN, deleted partners are back, suspended ones are active, and revoked ' +
      'grants apply. Review "pds partner list" and "pds key list".',
  );
}

function describeTraces({ lastEvent, newestTrace }: Traces): string[] {
  if (lastEvent === null) return ['This database has no releases or grants yet: there is nothing to recover.'];
  return [
    `The last event in this database was at ${lastEvent}. After a recovery every partner's next sync reads everything ` +
      'that it can see again. It cannot be undone.',
    ...(newestTrace === null
      ? []
      : [`Partners, grants and keys are as of ${newestTrace}; a recovery does not change them.`]),
  ];
}

function describeRecovery({ timestamp, lastEvent }: Recovery): string {
  return (
    `Recovered at ${timestamp}; the last event before was ${lastEvent === null ? 'none' : `at ${lastEvent}`}. Every ` +
    "partner's next sync reads everything that it can see."
  );
}
