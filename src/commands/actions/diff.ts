import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NoDatabaseError } from '../../database/database.ts';
import { migrate } from '../../database/migrations/migrator.ts';
import { openForCommands } from '../../database/open.ts';
import { SqliteConnection } from '../../database/sqlite/sqlite-files.ts';
import { KINDS, type Kind } from '../../kinds.ts';
import { OperatorError } from '../../operator-error.ts';
import {
  CHANGE_SORTS,
  type ChangeSink,
  type ChangeSort,
  type FieldChange,
  type RecordChange,
} from '../../publishing/preview/record-changes.ts';
import type { ImportReport } from '../../publishing/publish.ts';
import { listSources } from '../../publishing/read/source.ts';
import { withDatabase, type CommandContext } from '../context.ts';
import { renderColumns, type Output } from '../output/output.ts';
import { configOfProcess } from '../run-command.ts';
import { describeReport, describeSkipped, jsonOfReport, publishWithProgress } from './import.ts';

/** Records listed of each kind and sort of change as text, if `--show` does not set it. */
const DEFAULT_SHOWN = 20;

interface DiffOptions {
  /** Described at `PublishOptions`. */
  readonly replace?: boolean;
  /** Records to list of each kind and sort of change; infinite for all. */
  readonly show?: number;
}

/**
 * `pds diff`: reports what an import of a directory would do, record by record, and writes nothing. Without a database,
 * compares with an empty one.
 *
 * @returns the exit code, as of diff(1): 1 if the import would change something, otherwise 0.
 * @throws ImportRefusedError with the input's problems.
 */
export async function diff(output: Output, directory: string, { replace = false, show }: DiffOptions): Promise<number> {
  const limit = show ?? (output.isJson ? Infinity : DEFAULT_SHOWN);
  using changes = openSpool(limit);
  // Reports wrong settings first.
  configOfProcess();
  const sources = await listSources(directory);
  if (replace) output.note(await describeSkipped(directory, sources));
  const report = await onDatabaseOrEmpty(output, (context) => {
    const display = { doing: 'Comparing', interrupted: 'Interrupted; nothing was written.' };
    return publishWithProgress(context, sources, display, { replace, changes, dryRun: true });
  });
  const isDifferent = Object.values(report.kinds).some(({ added, changed, removed }) => added + changed + removed > 0);
  const exitCode = isDifferent ? 1 : 0;
  // For a reader that closes the pipe before the end.
  process.exitCode = exitCode;
  // After the database is closed: the reader of a long list can be slow.
  await output.list(jsonOfReport(report, true), 'changes', {
    json: () => listJsonChanges(changes),
    text: () => listTextChanges(changes, report.kinds, limit),
  });
  if (!output.isJson) output.note(describeReport(report, 'Nothing was written.'));
  return exitCode;
}

/** Runs `work` as a dry run on the database; if there is none, on an empty one in a temporary folder. */
async function onDatabaseOrEmpty<T>(output: Output, work: (context: CommandContext) => Promise<T>): Promise<T> {
  try {
    return await withDatabase(output, work);
  } catch (error) {
    if (!(error instanceof NoDatabaseError)) throw error;
  }
  output.note('There is no database yet (PDS_DATABASE_URL). This is a preview of an import into an empty one.');
  const folder = mkdtempSync(join(tmpdir(), 'pds-diff-'));
  using cleanup = new DisposableStack();
  cleanup.defer(() => rmSync(folder, { recursive: true, force: true }));
  // Also if a signal ends the process.
  process.once('exit', () => cleanup.dispose());
  await using database = openForCommands({ engine: 'sqlite', path: join(folder, 'pds.sqlite') });
  await migrate(database, Date.now);
  return await work({ config: configOfProcess(), database, clock: Date.now, output });
}

const MAX_VALUE = 60;

/** Characters shown before the first difference of two long values. */
const SHOWN_BEFORE = 15;

const ALIGNED_RECORDS = 500;

const SIGNS: Readonly<Record<ChangeSort, string>> = { added: '+', changed: '~', removed: '-' };

function* listJsonChanges(spool: ChangeSpool): Generator<string> {
  for (const kind of KINDS) {
    for (const sort of CHANGE_SORTS) yield* spool.list(kind, sort);
  }
}

/**
 * The changes as lines of text, in the same order: a heading per kind, a line per record, and below it one for each of
 * the first `limit` fields that change.
 */
function* listTextChanges(spool: ChangeSpool, kinds: ImportReport['kinds'], limit: number): Generator<string> {
  for (const kind of KINDS) {
    if (CHANGE_SORTS.every((sort) => spool.count(kind, sort) === 0)) continue;
    yield `${kind}:`;
    for (const sort of CHANGE_SORTS) {
      yield* describeSort(spool, kind, sort, limit);
      const others = (kinds[kind]?.[sort] ?? 0) - spool.count(kind, sort);
      if (others > 0) yield `    and ${others} more ${sort}; --show all lists them`;
    }
  }
}

function* describeSort(spool: ChangeSpool, kind: Kind, sort: ChangeSort, limit: number): Generator<string> {
  let rows: string[][] = [];
  for (const line of spool.list(kind, sort)) {
    const change = JSON.parse(line) as RecordChange;
    const row = [`  ${SIGNS[sort]} ${change.id}`, change.name];
    if (change.change === 'changed') {
      yield* renderColumns([row]);
      yield* describeFields(change.fields, limit);
    } else if (rows.push(row) === ALIGNED_RECORDS) {
      yield* renderColumns(rows);
      rows = [];
    }
  }
  yield* renderColumns(rows);
}

function describeFields(fields: readonly FieldChange[], limit: number): string[] {
  const rows = fields.slice(0, limit).map((change) => [`      ${change.field}`, describeValues(change)]);
  const others = fields.length - rows.length;
  return [...renderColumns(rows), ...(others > 0 ? [`      and ${others} more fields; --show all lists them`] : [])];
}

function describeValues({ before, after }: FieldChange): string {
  if (after === undefined) return `removed ${cut(JSON.stringify(before))}`;
  if (before !== undefined) return shortenedPair(before, after).join(' -> ');
  return `added ${cut(JSON.stringify(after))}`;
}

/** Two values as JSON. If they are long, shows them from shortly before their first difference. */
function shortenedPair(before: unknown, after: unknown): [string, string] {
  const [old, fresh] = [JSON.stringify(before), JSON.stringify(after)];
  let same = 0;
  while (same < old.length && old[same] === fresh[same]) same += 1;
  const isLong = Math.max(old.length, fresh.length) > MAX_VALUE;
  const start = isLong && same > SHOWN_BEFORE ? same - SHOWN_BEFORE : 0;
  return [cut(old, start), cut(fresh, start)];
}

function cut(text: string, start = 0): string {
  const end = start + MAX_VALUE;
  const part = text.slice(start, end).toWellFormed();
  return `${start > 0 ? '…' : ''}${part}${end < text.length ? '…' : ''}`;
}

type ChangeSpool = ReturnType<typeof openSpool>;

/**
 * Holds the changes of a preview in a temporary database until it has ended: they can be more than fit into memory, a
 * refused import must print none of them, and a slow reader of the output must not hold the import's lock. SQLite
 * deletes its file before it writes to it, so that nothing is left if the process is killed.
 *
 * @param limit the number of changes to hold of each kind and sort.
 */
function openSpool(limit: number) {
  const database = new SqliteConnection('');
  database.exec('create table changes (name text, line text); create index changes_by_name on changes (name); begin');
  const insert = database.prepare('insert into changes (name, line) values (?, ?)');
  const counts = new Map<string, number>();
  const count = (kind: Kind, sort: ChangeSort): number => counts.get(`${kind} ${sort}`) ?? 0;
  const sink: ChangeSink = {
    room: (kind, sort) => limit - count(kind, sort),
    add(change) {
      try {
        const name = `${change.kind} ${change.change}`;
        insert.run(name, JSON.stringify(change));
        counts.set(name, (counts.get(name) ?? 0) + 1);
      } catch (error) {
        throw new OperatorError(
          `the changes cannot be written to the temporary folder ${tmpdir()}: ${(error as Error).message}. Set TMPDIR ` +
            'to a folder with space, or list fewer records with --show',
          { cause: error },
        );
      }
    },
  };
  return {
    ...sink,
    count,
    *list(kind: Kind, sort: ChangeSort): Generator<string> {
      const rows = database.prepare('select line from changes where name = ? order by rowid');
      for (const { line } of rows.iterate(`${kind} ${sort}`)) yield String(line);
    },
    [Symbol.dispose]: () => database.close(),
  };
}
