import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { listGrantedPartners } from '../access/grant-check.ts';
import { writeAuditEntry } from '../database/audit.ts';
import { changeCatalog, keptReleases, pause, type CatalogEvent } from '../database/catalog-change.ts';
import type { Database, OpenDatabase } from '../database/database.ts';
import { buildBlocks, type BlockOfKind } from '../index/write/build-blocks.ts';
import { IndexChanges } from '../index/write/index-changes.ts';
import { BLOCK_SIZE } from '../index/position-set.ts';
import { addMilliseconds, DAY_MS, formatTimestamp, latestOf, type Clock } from '../timestamp.ts';
import { pruneLog, readLastEvent } from '../database/event-log.ts';
import { CHECKED_AT } from '../database/revision.ts';
import { storeSetting } from '../database/rows.ts';
import { vacuum } from '../database/vacuum.ts';
import type { WorkHooks } from '../database/catalog-lock.ts';
import { ConsentRequiredError, describeConsequences } from './consent.ts';
import { LossTally, needsConsent, type Loss } from './losses.ts';
import type { ChangeSink } from './preview/record-changes.ts';
import { refuseOtherFormats } from './read/file-format.ts';
import { ProblemList } from './problems.ts';
import { importKind, type ImportedKind } from './import-kind.ts';
import { applyRemovals, type RemovalOptions } from './write/removals.ts';
import { pruneDepartures } from './write/departures.ts';
import { rerender } from './write/rerender.ts';
import type { Counts, ImportContext } from './import-context.ts';
import { RecordWriter } from './write/record-writer.ts';
import type { Report } from './write/rules.ts';
import { ReferenceData, REFERENCES } from './write/references.ts';
import type { Source } from './read/source.ts';
import { updateSupplierVisibility } from './write/supplier-visibility.ts';
import { INDEXED_KINDS, KINDS, type Kind } from '../kinds.ts';

export interface PublishOptions extends RemovalOptions, Omit<WorkHooks, 'onProgress'> {
  clock: Clock;
  /** The sources' directory, for the audit trail. */
  directory?: string;
  /** How long departures are stored, in days; for ever if omitted. */
  removalsDays?: number;
  changes?: ChangeSink;
  /** Positions per index block; tests lower it to fill blocks. */
  blockSize?: number;
  /** Called with the numbers of bytes read from disk and of lines processed since the last call. */
  onRead?: (source: Source, bytes: number, lines: number) => void;
}

/** The result of an import, or with `dryRun` its preview. */
export interface ImportReport {
  /** The release's timestamp; null if nothing changed, and for a dry run. */
  timestamp: string | null;
  kinds: Partial<Record<Kind, Counts>>;
  /** Records that changed only because one that they embed did. */
  rerendered: number;
  /** The losses of partners. */
  losses: Loss[];
  notes: string[];
}

/**
 * Publishes sources atomically: readers see all of it at once, or nothing. If nothing changed, nothing is published.
 *
 * Old events are deleted before, in a transaction of their own: a watermark that the log has must find its departures.
 *
 * @throws ImportRefusedError with the input's problems; nothing was written.
 * @throws ConsentRequiredError if `replace` would remove more than a fifth of a kind, or the import would take from
 *   partners what they are granted or most of what they see, unless that is allowed.
 * @throws OperatorError if another import ran for over a minute.
 */
export async function publish(
  database: OpenDatabase,
  sources: readonly Source[],
  options: PublishOptions,
): Promise<ImportReport> {
  // Before the change of the catalog, which must not use `access`.
  const losses = new LossTally(database, await listGrantedPartners(database));
  const { clock, removalsDays, dryRun } = options;
  const isPruned = removalsDays !== undefined && dryRun !== true;
  const oldest = isPruned
    ? await pruneLog(database, formatTimestamp(clock() - removalsDays * DAY_MS), keptReleases(database))
    : 0;
  const { result, at } = await changeCatalog(database, options, (catalog, release) =>
    changeRecords(catalog, sources, { losses, oldest, release }, options),
  );
  const report = { ...result, timestamp: at };
  if (at === null && dryRun !== true) report.notes.push(...(await recordCheck(database, clock)));
  const changes = changesIn(Object.values(report.kinds)) + report.rerendered;
  const vacuumProblem = dryRun === true ? null : await vacuum(database, changes);
  if (vacuumProblem !== null) report.notes.push(vacuumProblem);
  return report;
}

/** Stores when an import found nothing new, without an event, since nobody needs to read anything again. Returns notes. */
async function recordCheck(database: Database, clock: Clock): Promise<string[]> {
  const at = latestOf(formatTimestamp(clock()), addMilliseconds(await readLastEvent(database), 1));
  const stored = storeSetting(database, CHECKED_AT, at).then(() => []);
  return stored.catch((error: unknown) => [`partners do not see that the data was checked: ${String(error)}`]);
}

/** @param known the tally of what partners lose, the release before which no departures are needed, and this one's number. */
async function changeRecords(
  database: Database,
  sources: readonly Source[],
  known: Pick<ImportContext, 'losses' | 'release'> & { readonly oldest: number },
  options: PublishOptions,
): Promise<{ result: Omit<ImportReport, 'timestamp'>; event: CatalogEvent | null }> {
  await refuseOtherFormats(sources);
  const context = await createImportContext(database, known, options);
  const result = await writeRecords(context, sources, options);
  const { kinds, rerendered } = result;
  const isChanged = changesIn(Object.values(kinds)) + rerendered > 0;
  if (!isChanged || options.dryRun === true) return { result, event: null };
  const rebuilt: BlockOfKind[] = [];
  for (const kind of INDEXED_KINDS) rebuilt.push(...(await context.index[kind].finish()));
  await buildBlocks(database, rebuilt, context.pause);
  await pruneDepartures(database, known.oldest);
  const details = {
    directory: options.directory,
    ...(options.replace === true && { replace: true }),
    kinds: countsThatAreNotZero(kinds),
    rendered_anew: rerendered,
  };
  const complete: CatalogEvent['complete'] = (transaction, at) =>
    writeAuditEntry(transaction, options.clock, { action: 'import', details: { ...details, published_at: at } });
  return { result, event: { what: 'release', after: context.latestUpdatedAt, complete } };
}

/** A function of its own, so that the keys and lines of the sources are not in memory while the index is built. */
async function writeRecords(
  context: ImportContext,
  sources: readonly Source[],
  options: PublishOptions,
): Promise<Omit<ImportReport, 'timestamp'>> {
  const notes: string[] = [];
  const published = new Map<Kind, ImportedKind>();
  for (const kind of KINDS) {
    const source = sources.find((candidate) => candidate.kind === kind);
    if (source === undefined) continue;
    const report: Report = (line, field, reason) => context.problems.add({ file: source.name, line, field, reason });
    const writer = new RecordWriter(context, kind, report);
    const onRead = (bytes: number, lines: number): void => options.onRead?.(source, bytes, lines);
    published.set(kind, await importKind(context, source, writer, onRead));
    await context.pause();
  }
  context.problems.throwIfAny();
  const removals = await applyRemovals(context, published, options, notes);
  for (const { writer, lines } of published.values()) await writer.rules.checkStored?.(lines);
  context.problems.throwIfAny();
  const changedContracts = published.get('contracts');
  if (changedContracts !== undefined && changesIn([changedContracts.counts]) > 0)
    await updateSupplierVisibility(context);
  const losses = await context.losses.list();
  const notAllowed = {
    removals: options.allowRemovals === true ? [] : removals,
    lostAccess: options.allowLostAccess === true ? [] : losses.filter(needsConsent),
  };
  const questions = describeConsequences(notAllowed);
  if (questions.length > 0 && options.dryRun !== true) throw new ConsentRequiredError(notAllowed);
  notes.push(...questions);
  const rerendered = await rerender(context, published);
  context.problems.throwIfAny();

  if (context.locationsWithoutState > 0) {
    notes.push(`locations that are not of the form "City, ST", and give no state: ${context.locationsWithoutState}`);
  }
  const kinds: ImportReport['kinds'] = Object.fromEntries([...published].map(([kind, { counts }]) => [kind, counts]));
  return { kinds, rerendered, losses, notes };
}

function countsThatAreNotZero(kinds: ImportReport['kinds']): Record<string, Partial<Counts>> {
  const entries = Object.entries(kinds).map(([kind, counts]) => [
    kind,
    Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0)),
  ]);
  return Object.fromEntries(entries) as Record<string, Partial<Counts>>;
}

async function createImportContext(
  database: Database,
  { release, losses }: Pick<ImportContext, 'losses' | 'release'>,
  options: PublishOptions,
): Promise<ImportContext> {
  const { kysely } = database;
  const emptyKinds = new Set<Kind>();
  const token = randomUUID();
  for (const kind of INDEXED_KINDS) {
    const { rows } = await sql`select id from ${sql.table(`catalog.${kind}`)} limit 1`.execute(kysely);
    if (rows.length === 0) emptyKinds.add(kind);
  }
  return {
    database,
    release,
    startedAt: formatTimestamp(options.clock()),
    problems: new ProblemList(),
    referenceData: await ReferenceData.load(database),
    changed: new Map(REFERENCES.map(({ to }) => [to, new Set()])),
    emptyKinds,
    locationsWithoutState: 0,
    latestUpdatedAt: '',
    losses,
    index: {
      suppliers: await IndexChanges.open(database, 'suppliers', token),
      contracts: await IndexChanges.open(database, 'contracts', token),
      solicitations: await IndexChanges.open(database, 'solicitations', token),
    },
    changes: options.changes ?? null,
    blockSize: options.blockSize ?? BLOCK_SIZE,
    pause: () => pause(options),
  };
}

function changesIn(counts: readonly Counts[]): number {
  return counts.reduce((sum, { added, changed, removed }) => sum + added + changed + removed, 0);
}
