import { sql } from 'kysely';
import type { Database, OpenDatabase } from '../database/database.ts';
import { STRIDE } from '../database/renumbering.ts';
import { drawInstant } from '../database/series.ts';
import type { Clock } from '../instant.ts';
import { lockCatalog } from './lock.ts';
import { ProblemList } from './problems.ts';
import { publishKind } from './publish-kind.ts';
import { RECORD_KINDS, type RecordKind } from './records.ts';
import { References } from './references.ts';
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
  /** Also removes what the sources of the kinds present no longer hold. */
  replace?: boolean;
  /** Lets `replace` remove more than a fifth of a kind. */
  allowRemovals?: boolean;
  /** Checks and counts, and writes nothing. */
  dryRun?: boolean;
  /** What lies between the numbers of new records; for tests, which use up the gaps. */
  stride?: number;
  /** Called once if another import has to be waited for. */
  onWaiting?: () => void;
  /** Called as bytes of a source are read and its lines are done. */
  onRead?: (source: Source, bytes: number, lines: number) => void;
}

/** What an import did, or with `dryRun` would do. */
export interface PublicationReport {
  /** The instant of the publication; null where nothing changed or nothing was to be written. */
  instant: string | null;
  kinds: Partial<Record<RecordKind, Counts>>;
  /** Records that changed only because something they embed did. */
  renderedAnew: number;
  notes: string[];
}

/**
 * Publishes sources, all or nothing: readers see the whole of it at one instant, or nothing.
 * Where nothing changed, nothing is published.
 *
 * The instant is drawn last, just before the commit, under the lock that grants take too. On
 * SQLite the two files are committed one after the other, the catalog first: whoever sees the
 * instant in `access` finds the publication in `catalog`.
 *
 * @throws ImportRefusedError with the problems of the input; nothing was written.
 * @throws ImportLockedError where another import ran for over a minute.
 */
export async function publish(
  database: OpenDatabase,
  sources: readonly Source[],
  options: PublishOptions,
): Promise<PublicationReport> {
  const transaction = await database.kysely.startTransaction().execute();
  try {
    const report = await publishWithin({ ...database, kysely: transaction }, sources, options);
    await (report.instant === null ? transaction.rollback() : transaction.commit()).execute();
    // It is published; a failure from here on is none of the import.
    if (report.instant !== null) await tidyUp(database, report).catch(() => undefined);
    return report;
  } catch (error) {
    // The connection may be what failed; what it was doing is then rolled back by the database.
    if (!transaction.isCommitted && !transaction.isRolledBack) {
      await transaction
        .rollback()
        .execute()
        .catch(() => undefined);
    }
    throw error;
  }
}

async function publishWithin(
  database: Database,
  sources: readonly Source[],
  options: PublishOptions,
): Promise<PublicationReport> {
  await lockCatalog(database, options.onWaiting);
  const run = await startRun(database, options.stride ?? STRIDE);
  const notes: string[] = [];
  let locationsWithoutState = 0;
  const published = new Map<RecordKind, PublishedKind>();
  for (const kind of RECORD_KINDS) {
    const source = sources.find((candidate) => candidate.kind === kind);
    if (source === undefined) continue;
    const writer = await writerFor(run, kind, () => (locationsWithoutState += 1));
    const onRead = (bytes: number, lines: number): void => options.onRead?.(source, bytes, lines);
    published.set(kind, { source, writer, outcome: await publishKind(run, source, writer, onRead) });
  }
  run.problems.throwIfAny();
  await applyRemovals(run, published, {
    replace: options.replace ?? false,
    allowRemovals: options.allowRemovals ?? false,
    onNote: (note) => notes.push(note),
  });
  for (const { source, writer, outcome } of published.values()) await writer.finish?.(source.name, outcome.lines);
  run.problems.throwIfAny();
  const renderedAnew = await renderAnew(run);

  if (locationsWithoutState > 0) {
    notes.push(`${locationsWithoutState} locations are not of the form "City, ST", and give no state`);
  }
  const kinds: PublicationReport['kinds'] = Object.fromEntries(
    [...published].map(([kind, { outcome }]) => [kind, outcome.counts]),
  );
  const isChanged =
    renderedAnew > 0 || Object.values(kinds).some((count) => count.added + count.changed + count.removed > 0);
  if (!isChanged || options.dryRun === true) return { instant: null, kinds, renderedAnew, notes };
  if (touches(kinds.contracts)) await updateSupplierVisibility(database, run.publication);
  for (const step of run.lastSteps) await step();
  return { instant: await announce(run, options.clock), kinds, renderedAnew, notes };
}

function touches(counts: Counts | undefined): boolean {
  return counts !== undefined && counts.added + counts.changed + counts.removed > 0;
}

async function startRun(database: Database, stride: number): Promise<Run> {
  const { kysely } = database;
  const { last } = await kysely
    .selectFrom('catalog.publications')
    .select((eb) => eb.fn.max('number').as('last'))
    .executeTakeFirstOrThrow();
  const emptyKinds = new Set<RecordKind>();
  for (const kind of ['suppliers', 'contracts', 'solicitations'] as const) {
    if ((await kysely.selectFrom(`catalog.${kind}`).select('id').limit(1).execute()).length === 0) emptyKinds.add(kind);
  }
  const kinds = ['lead-entities', 'coops', 'city-services', 'certifications', 'suppliers'] as const;
  return {
    database,
    publication: ((last as number | null) ?? 0) + 1,
    problems: new ProblemList(),
    references: await References.load(database),
    changed: Object.fromEntries(kinds.map((kind) => [kind, new Set<string>()])) as Run['changed'],
    former: { 'lead-entities': new Map(), coops: new Map() },
    assumedSuppliers: new Set(),
    emptyKinds,
    lastSteps: [],
    stride,
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

/** Draws the instant and makes it the publication's. An `updated_at` that was brought and is later gives way to it. */
async function announce({ database, publication, emptyKinds }: Run, clock: Clock): Promise<string> {
  const { kysely } = database;
  const instant = await drawInstant(database, clock);
  await kysely.insertInto('catalog.publications').values({ number: publication, instant }).execute();
  await kysely.updateTable('access.clock').set({ last_publication: instant }).execute();
  for (const kind of emptyKinds) {
    await sql`update ${sql.table(`catalog.${kind}`)} set updated_at = null
      where changed_publication = ${publication} and updated_at > ${instant}`.execute(kysely);
  }
  return instant;
}

/** Fewer changed records than this leave the planner's figures as good as they were. */
const CHANGES_WORTH_ANALYZING = 1_000;

/**
 * Gives the planner the new figures, and SQLite's log back to the disk. Vacuuming lets PostgreSQL
 * count in an index alone. Not needed for correctness.
 */
async function tidyUp({ engine, kysely }: OpenDatabase, report: PublicationReport): Promise<void> {
  if (engine === 'sqlite') {
    await sql`pragma catalog.optimize`.execute(kysely);
    await sql`pragma catalog.wal_checkpoint(truncate)`.execute(kysely);
    return;
  }
  const changes = Object.values(report.kinds).reduce(
    (sum, { added, changed, removed }) => sum + added + changed + removed,
    report.renderedAnew,
  );
  if (changes < CHANGES_WORTH_ANALYZING) return;
  const { rows } = await sql<{ name: string }>`
    select tablename as name from pg_catalog.pg_tables where schemaname = 'catalog'`.execute(kysely);
  for (const { name } of rows) await sql`vacuum (analyze) ${sql.table(`catalog.${name}`)}`.execute(kysely);
}
