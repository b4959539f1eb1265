import project from '../../../package.json' with { type: 'json' };
import type { Config } from '../../config.ts';
import { OperatorError } from '../../operator-error.ts';
import { backup, findPartialBackups } from '../../recovery/backup.ts';
import type { PreservedRestrictions } from '../../recovery/preserve-restrictions.ts';
import { previewRecovery, recover, type Recovery, type RecoveryPreview } from '../../recovery/recover.ts';
import { previewRestore, restore, type RestoreReport } from '../../recovery/restore.ts';
import { canAsk } from '../command-line.ts';
import { configOfProcess, operatorOfProcess, type CommandContext } from '../context.ts';
import { confirm } from '../process/confirm.ts';
import type { Output } from '../process/output.ts';
import { startProgress } from '../process/progress.ts';

const STEPS = {
  copying: 'Copying',
  checking: 'Checking the backup',
  recovering: 'Recovering',
  replacing: 'Replacing the database',
};

/** `pds backup`: copies a consistent snapshot of a SQLite database into a new folder. */
export async function backupDatabase(output: Output, directory: string): Promise<undefined> {
  const path = sqlitePath(configOfProcess(), 'pg_dump, or pg_basebackup with WAL archiving');
  for (const partial of findPartialBackups(directory)) {
    output.note(`${partial} is an unfinished backup. If no backup is running, you can remove it.`);
  }
  const progress = startProgress(output, 'Interrupted; no backup was made.');
  const made = await backup(path, directory, {
    clock: Date.now,
    version: project.version,
    onProgress: (step, done, total) => progress.show(STEPS[step], done, total),
  }).finally(progress.stop);
  const megabytes = (made.files.catalog.bytes + made.files.access.bytes) / 1e6;
  output.done(
    { directory, ...made },
    `Backed up ${path} to ${directory}: ${megabytes.toFixed(1)} MB, last event at ${made.last_event}. ` +
      'It contains the digests of keys and the secret of cursors: store it where only operators can read it.',
  );
}

/** The options of `pds restore`, as Commander parses them. */
interface RestoreOptions {
  /** A timestamp that partners may have seen, if the operator knows of one. */
  readonly after?: string;
  /** Skips the prompt. */
  readonly yes?: boolean;
}

/** `pds restore`: replaces a SQLite database with a backup. Prompts before it replaces one, unless confirmed. */
export async function restoreDatabase(
  output: Output,
  directory: string,
  { after, yes: isConfirmed = false }: RestoreOptions,
): Promise<undefined> {
  const config = configOfProcess();
  const path = sqlitePath(config, 'pg_restore, or point-in-time recovery');
  if (!isConfirmed) await confirmRestore(output, path, directory);
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
      ...(kept !== null && { carried_over: jsonOf(kept.preserved), gone: kept.lost }),
      replaced,
    },
    `Restored ${path} as of ${manifest.made_at}. ${describeRecovery(recovery)}`,
  );
  noteWhatFollows(report, output);
}

/**
 * Asks before a database is replaced.
 *
 * @throws OperatorError if there is no terminal to ask on.
 */
async function confirmRestore(output: Output, path: string, directory: string): Promise<void> {
  const { manifest, replaced } = previewRestore(path, directory);
  if (replaced === null) return;
  const lastEvent =
    replaced.lastEvent === null ? 'whose last event cannot be read' : `last event at ${replaced.lastEvent}`;
  const consequence =
    `this restore replaces ${path} (${lastEvent}) with the backup of ${manifest.made_at}` +
    ` (last event at ${manifest.last_event})`;
  if (!canAsk()) {
    throw new OperatorError(`${consequence}, and there is no terminal to confirm it on. Add --yes to confirm it`);
  }
  output.note([
    `T${consequence.slice(1)}.`,
    'Later imports, partners, keys and grants are lost. The replaced files stay beside the restored ones.',
  ]);
  await confirm(output, 'Restore now?');
}

/** @throws OperatorError if the database is PostgreSQL, naming its tools for the purpose. */
function sqlitePath({ database }: Config, tools: string): string {
  if (database.engine === 'sqlite') return database.path;
  throw new OperatorError(
    `this command is for SQLite. For PostgreSQL use ${tools}. docs/operators/backup-and-recovery.md describes how, and ` +
      'what to do after a restore ("pds recover")',
  );
}

function noteWhatFollows(
  { manifest, dropped, migrations, kept, replaced, isLockUncertain }: RestoreReport,
  output: Output,
): void {
  if (dropped.length > 0) {
    output.note(
      `WARNING: the backup contained objects that this service does not create; they were dropped: ${dropped.join(', ')}. ` +
        'Find out who changed the backup, and review its partners, keys and grants.',
    );
  }
  if (migrations.length > 0) output.note(`Migrated: ${migrations.join(', ')}.`);
  if (kept === null) {
    output.note('The replaced database was missing, unreadable or a different one.');
    output.note(describeLostAccess(manifest.made_at));
  } else {
    output.note(describeKept(kept));
  }
  if (isLockUncertain) {
    output.note(
      'WARNING: the replaced database was too damaged to check for processes that use it: restart all that do.',
    );
  }
  if (replaced.length > 0) {
    output.note(`The replaced database was moved to: ${replaced.join(', ')}. Remove it when you no longer need it.`);
  }
}

/** How preserved restrictions appear in JSON, and as text. */
const PRESERVED = [
  ['revokedKeys', 'revoked_keys', 'Keys revoked since the backup, still revoked'],
  ['shortenedKeys', 'shortened_keys', 'Keys given an earlier expiry since the backup, which still applies'],
  ['deletedPartners', 'deleted_partners', 'Partners deleted since the backup, still deleted'],
  ['renamedPartners', 'renamed_partners', 'Partners renamed since the backup, which keep the new name'],
  ['suspendedPartners', 'suspended_partners', 'Partners suspended since the backup, still suspended'],
  ['narrowedPartners', 'narrowed_partners', 'Partners limited to fewer kinds since the backup, still limited'],
  ['revokedGrants', 'revoked_grants', 'Grants revoked since the backup, still revoked'],
] as const satisfies [keyof PreservedRestrictions, string, string][];

function jsonOf(preserved: PreservedRestrictions): object {
  return Object.fromEntries(PRESERVED.map(([name, field]) => [field, preserved[name]]));
}

function describeKept({ preserved, lost }: NonNullable<RestoreReport['kept']>): string[] {
  const lists = [
    ...PRESERVED.map(([name, , heading]) => [heading, preserved[name]] as const),
    ['LOST partners, to be created again', lost.partners] as const,
    ['LOST keys, to be issued again', lost.keys] as const,
    ['LOST grants, to be granted again', lost.grants] as const,
  ];
  return lists.flatMap(([heading, items]) => (items.length === 0 ? [] : [`${heading}: ${items.join(', ')}.`]));
}

/** The options of `pds recover`, as Commander parses them. */
export interface RecoverOptions extends RestoreOptions {
  /** Reports without changing anything. */
  readonly dryRun?: boolean;
}

/**
 * `pds recover`: makes the service consistent for clients again after its database lost changes. Prompts before
 * changing anything, unless confirmed.
 */
export async function recoverDatabase(
  { database, clock, output }: CommandContext,
  { after, dryRun: isDryRun = false, yes: isConfirmed = false }: RecoverOptions,
): Promise<undefined> {
  if (isDryRun || !isConfirmed) {
    const preview = await previewRecovery(database);
    const lines = describePreview(preview);
    if (isDryRun) {
      const { lastEvent, newestTrace, records } = preview;
      const json = { dry_run: true, recovered_at: null, last_event: lastEvent, records, newest_trace: newestTrace };
      output.done(json, [...lines, 'Dry run: nothing was changed.']);
      return;
    }
    output.note(lines);
    await confirm(output, 'Recover now?');
  }
  const recovery = await recover(database, {
    clock,
    ...(after !== undefined && { after }),
    onWaiting: () => output.note('Waiting up to a minute for a running import to finish.'),
  });
  output.done({ ...jsonOfRecovery(recovery), newest_trace: recovery.newestTrace }, describeRecovery(recovery));
  if (recovery.newestTrace !== null) output.note(describeLostAccess(recovery.newestTrace));
}

function describePreview({ lastEvent, newestTrace, records }: RecoveryPreview): string[] {
  if (lastEvent === null && records === 0)
    return ['This database has no publications or grants yet: there is nothing to recover.'];
  return [
    `The last event in this database was ${lastEvent === null ? 'none' : `at ${lastEvent}`}. A recovery marks all ` +
      `${records} records as changed at a later timestamp, so that every partner's next sync reads everything that it ` +
      'can see again. It cannot be undone.',
    ...(newestTrace === null
      ? []
      : [`Partners, grants and keys are as of ${newestTrace}; a recovery does not change them.`]),
  ];
}

function jsonOfRecovery({ timestamp, lastEvent, records }: Recovery): object {
  return { recovered_at: timestamp, last_event: lastEvent, records };
}

function describeRecovery({ timestamp, lastEvent, records }: Recovery): string {
  return (
    `Recovered at ${timestamp}; the last event before was ${lastEvent === null ? 'none' : `at ${lastEvent}`}. All ` +
    `${records} records are marked as changed, so that every partner's next sync reads everything that it can see.`
  );
}

/** @param since changes after this timestamp may be lost. */
function describeLostAccess(since: string): string {
  return (
    `WARNING: partners, grants and keys are as of ${since}. Later changes may be lost and must be made again: A KEY ` +
    'REVOKED SINCE THEN WORKS AGAIN, deleted partners are back, suspended ones are active, and revoked grants apply. Review "pds partner list" ' +
    'and "pds key list".'
  );
}
