import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { sql } from 'kysely';
import { recordChange } from '../database/audit.ts';
import { rollBack, type Database, type OpenDatabase } from '../database/database.ts';
import { buildBlocks, type BlockOfKind } from '../index/build-blocks.ts';
import { IndexChanges } from '../index/index-changes.ts';
import { BLOCK_SIZE } from '../index/position-set.ts';
import { INDEXED_KINDS } from '../index/terms.ts';
import type { Clock } from '../timestamp.ts';
import { announcePublication, nextPublication, tidyUp } from './announce.ts';
import { lockCatalog } from './lock.ts';
import { findOtherFormat } from './file-format.ts';
import { ProblemList } from './problems.ts';
import { publishKind } from './publish-kind.ts';
import { RECORD_KINDS, type RecordKind } from './records.ts';
import { References } from './references.ts';
import { openFormerSearch } from './former-search.ts';
import { applyRemovals, type PublishedKind } from './removals.ts';
import { renderAnew } from './render-anew.ts';
import type { Counts, KindWriter, Run } from './run.ts';
import type { Source } from './source.ts';
import { updateSupplierVisibility } from './supplier-visibility.ts';
import { certificationWriter } from './write-certifications.ts';
import { contractWriter } from './write-contracts.ts';
import { namedRefWriter } from './write-named-refs.ts';
import { solicitationWriter } from './write-solicitations.ts';
import { supplierWriter } from './write-suppliers.ts';

export interface PublishOptions {
  clock: Clock;
  /** The sources' directory, for the audit trail. */
  directory?: string;
  /** Also removes records missing from the sources, for the kinds that have a source. */
  replace?: boolean;
  /** Lets `replace` remove more than a fifth of a kind. */
  allowRemovals?: boolean;
  /** Checks and counts, and writes nothing. */
  dryRun?: boolean;
  /** Positions per index block; tests lower it to fill blocks. */
  blockSize?: number;
  /** Called once if another import holds the lock. */
  onWaiting?: () => void;
  /** Called regularly. If it throws, the import ends with that error and nothing is published. */
  throwIfInterrupted?: () => void;
  /** Called just before the commit, the last point at which throwing prevents publication. */
  onCommit?: () => void;
  /** Called as a source's bytes are read and its lines processed. */
  onRead?: (source: Source, bytes: number, lines: number) => void;
}

/** The result of an import, or with `dryRun` its preview. */
export interface PublicationReport {
  /** The publication's timestamp; null if nothing changed, and for a dry run. */
  timestamp: string | null;
  kinds: Partial<Record<RecordKind, Counts>>;
  /** Records that changed only because one that they embed did. */
  renderedAnew: number;
  notes: string[];
}

/**
 * Publishes sources atomically: readers see all of it at once, or nothing. If nothing changed, nothing is published.
 *
 * The commit timestamp is drawn last, just before the commit, under the lock that grants also take. SQLite commits its
 * two files one after the other, the catalog first: a reader that sees the timestamp in `access` finds the publication
 * in `catalog`.
 *
 * @throws ImportRefusedError with the input's problems; nothing was written.
 * @throws ImportLockedError if another import ran for over a minute.
 */
export async function publish(
  database: OpenDatabase,
  sources: readonly Source[],
  options: PublishOptions,
): Promise<PublicationReport> {
  const transaction = await database.kysely.startTransaction().execute();
  try {
    const report = await publishWithin({ ...database, kysely: transaction }, sources, options);
    await pauseOf(options)();
    if (report.timestamp !== null) options.onCommit?.();
    await (report.timestamp === null ? transaction.rollback() : transaction.commit()).execute();
    // Also after an import that changed nothing: an earlier cleanup may have failed.
    const untidy = options.dryRun === true ? null : await tidyUp(database, changesIn(report)).catch(() => null);
    if (untidy !== null) report.notes.push(untidy);
    return report;
  } catch (error) {
    await rollBack(transaction);
    throw error;
  }
}

/**
 * SQLite's statements resolve in microtasks, so a loop over them keeps signals from being handled. Pausing handles
 * them, and ends an interrupted import.
 */
function pauseOf({ throwIfInterrupted }: PublishOptions): Run['pause'] {
  return async () => {
    await setImmediate();
    throwIfInterrupted?.();
  };
}

/** @throws ImportRefusedError with one problem per file that begins like another format. */
async function refuseOtherFormats(sources: readonly Source[]): Promise<void> {
  const problems = new ProblemList();
  for (const source of sources) {
    const reason = await findOtherFormat(source);
    if (reason !== null) problems.add({ file: source.name, line: null, field: '', reason });
  }
  problems.throwIfAny();
}

async function publishWithin(
  database: Database,
  sources: readonly Source[],
  options: PublishOptions,
): Promise<PublicationReport> {
  await lockCatalog(database, options);
  await refuseOtherFormats(sources);
  const run = await startRun(database, options);
  const notes: string[] = [];
  let locationsWithoutState = 0;
  const published = new Map<RecordKind, PublishedKind>();
  for (const kind of RECORD_KINDS) {
    const source = sources.find((candidate) => candidate.kind === kind);
    if (source === undefined) continue;
    const writer = await writerFor(run, kind, () => (locationsWithoutState += 1));
    const onRead = (bytes: number, lines: number): void => options.onRead?.(source, bytes, lines);
    published.set(kind, { source, writer, outcome: await publishKind(run, source, writer, onRead) });
    await run.pause();
  }
  run.problems.throwIfAny();
  await applyRemovals(run, published, {
    replace: options.replace ?? false,
    allowRemovals: options.allowRemovals ?? false,
    onNote: (note) => notes.push(note),
  });
  for (const { source, writer, outcome } of published.values()) await writer.finish?.(source.name, outcome.lines);
  run.problems.throwIfAny();
  const renderedAnew = await renderAnew(run, published);
  run.problems.throwIfAny();

  if (locationsWithoutState > 0) {
    notes.push(`${locationsWithoutState} locations are not of the form "City, ST", and give no state`);
  }
  const kinds: PublicationReport['kinds'] = Object.fromEntries(
    [...published].map(([kind, { outcome }]) => [kind, outcome.counts]),
  );
  const isChanged =
    renderedAnew > 0 || Object.values(kinds).some((count) => count.added + count.changed + count.removed > 0);
  if (!isChanged || options.dryRun === true) return { timestamp: null, kinds, renderedAnew, notes };
  if (touches(kinds.contracts)) await updateSupplierVisibility(run);
  const rebuilt: BlockOfKind[] = [];
  for (const kind of INDEXED_KINDS) rebuilt.push(...(await run.index[kind].finish()));
  await buildBlocks(database, rebuilt, run.pause);
  await run.formerSearch?.finish();
  const timestamp = await announce(run, options.clock);
  const details = {
    ...{ directory: options.directory, published_at: timestamp, ...(options.replace === true && { replace: true }) },
    ...{ kinds: countsThatAreNotZero(kinds), rendered_anew: renderedAnew },
  };
  await recordChange(database, options.clock, { action: 'import', details });
  return { timestamp, kinds, renderedAnew, notes };
}

function countsThatAreNotZero(kinds: PublicationReport['kinds']): Record<string, Partial<Counts>> {
  const entries = Object.entries(kinds).map(([kind, counts]) => [
    kind,
    Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0)),
  ]);
  return Object.fromEntries(entries) as Record<string, Partial<Counts>>;
}

function touches(counts: Counts | undefined): boolean {
  return counts !== undefined && counts.added + counts.changed + counts.removed > 0;
}

async function startRun(database: Database, options: PublishOptions): Promise<Run> {
  const { kysely } = database;
  const emptyKinds = new Set<RecordKind>();
  const token = randomUUID();
  for (const kind of INDEXED_KINDS) {
    if ((await kysely.selectFrom(`catalog.${kind}`).select('id').limit(1).execute()).length === 0) emptyKinds.add(kind);
  }
  const kinds = ['lead-entities', 'coops', 'city-services', 'certifications', 'suppliers'] as const;
  return {
    database,
    publication: await nextPublication(database),
    problems: new ProblemList(),
    references: await References.load(database),
    changed: Object.fromEntries(kinds.map((kind) => [kind, new Set<string>()])) as Run['changed'],
    former: { 'lead-entities': new Map(), coops: new Map() },
    assumedSuppliers: new Set(),
    emptyKinds,
    latestUpdatedAt: '',
    index: {
      suppliers: await IndexChanges.open(database, 'suppliers', token),
      contracts: await IndexChanges.open(database, 'contracts', token),
      solicitations: await IndexChanges.open(database, 'solicitations', token),
    },
    token,
    formerSearch: await openFormerSearch(database),
    blockSize: options.blockSize ?? BLOCK_SIZE,
    pause: pauseOf(options),
  };
}

async function writerFor(
  run: Run,
  kind: RecordKind,
  onLocationWithoutState: () => void,
): Promise<KindWriter<RecordKind>> {
  switch (kind) {
    case 'certifications':
      return await certificationWriter(run);
    case 'suppliers':
      return await supplierWriter(run, onLocationWithoutState);
    case 'contracts':
      return await contractWriter(run);
    case 'solicitations':
      return await solicitationWriter(run);
    default:
      return namedRefWriter(run, kind);
  }
}

/** Completes the publication. An imported `updated_at` later than its timestamp is replaced by it. */
async function announce(run: Run, clock: Clock): Promise<string> {
  const { database, publication, token, emptyKinds, latestUpdatedAt } = run;
  const timestamp = await announcePublication(database, { number: publication, token }, clock);
  if (latestUpdatedAt <= timestamp) return timestamp;
  for (const kind of emptyKinds) {
    await sql`update ${sql.table(`catalog.${kind}`)} set updated_at = null
      where changed_publication = ${publication} and updated_at > ${timestamp}`.execute(database.kysely);
  }
  return timestamp;
}

function changesIn({ kinds, renderedAnew }: PublicationReport): number {
  return Object.values(kinds).reduce(
    (sum, { added, changed, removed }) => sum + added + changed + removed,
    renderedAnew,
  );
}
