import { statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { convertCsv } from '../../convert/csv/convert-csv.ts';
import { kindsOf, parseMap } from '../../convert/csv/map-file.ts';
import { readMapText } from '../../convert/map-checks.ts';
import { sketchMap } from '../../convert/csv/sketch-map.ts';
import { convertOcds, OCDS_KINDS } from '../../convert/ocds/convert-ocds.ts';
import { parseOcdsMap, type OcdsOptions } from '../../convert/ocds/options.ts';
import { ConversionReport, describeRefusal } from '../../convert/report.ts';
import { Workspace } from '../../convert/workspace.ts';
import { checkOutputDirectory, otherFiles, writeDirectory } from '../../convert/write-directory.ts';
import type { Kind } from '../../kinds.ts';
import { OperatorError } from '../../operator-error.ts';
import { formatTimestamp } from '../../timestamp.ts';
import { renderColumns, type Output } from '../process/output.ts';
import { startProgress } from '../process/progress.ts';

/** The options of `pds convert ocds`, as Commander parses them. */
interface ConvertOcdsOptions extends Partial<Omit<OcdsOptions, 'contracts' | 'statuses' | 'services'>> {
  readonly out: string;
  readonly map?: string;
  readonly contracts: OcdsOptions['contracts'];
  readonly skipRefused?: boolean;
}

/** The options of `pds convert csv`. */
interface ConvertCsvOptions {
  readonly out?: string;
  readonly map?: string;
  readonly sketch?: string;
  readonly skipRefused?: boolean;
}

type Convert = (workspace: Workspace, report: ConversionReport, onRead: (bytes: number) => void) => Promise<void>;

/**
 * `pds convert ocds`: writes OCDS files as an import directory.
 *
 * @returns the exit code: 1 if anything was refused.
 */
export async function convertFromOcds(
  output: Output,
  paths: readonly string[],
  { out, map, skipRefused = false, ...options }: ConvertOcdsOptions,
): Promise<number> {
  const mapped = map === undefined ? { statuses: {}, services: [] } : parseOcdsMap(readMapText(map), map);
  const { contracts, asOf = formatTimestamp(Date.now()), zone = null, coop = null } = options;
  const { callOffs = false, contactPoints = false } = options;
  return convert(output, out, OCDS_KINDS, paths, skipRefused, async (workspace, report, onRead) => {
    if (contracts === 'current') report.note(`Contracts that ended before ${asOf} are left out (--as-of).`);
    const all = { contracts, asOf, zone, coop, callOffs, contactPoints, ...mapped };
    await convertOcds(paths, all, workspace, report, onRead);
  });
}

/**
 * `pds convert csv`: writes CSV files as an import directory, by a map; or prints a first map of a file.
 *
 * @returns the exit code: 1 if anything was refused.
 */
export async function convertFromCsv(
  output: Output,
  { out, map: mapPath, sketch, skipRefused = false }: ConvertCsvOptions,
): Promise<number> {
  if (sketch !== undefined) {
    const map = await sketchMap(sketch);
    output.result(map, JSON.stringify(map, null, 2).split('\n'));
    return 0;
  }
  if (mapPath === undefined || out === undefined) throw new OperatorError('pass --map and --out, or --sketch FILE.csv');
  const map = parseMap(readMapText(mapPath), mapPath);
  const paths = map.files.map(({ file }) => resolve(dirname(mapPath), file));
  return convert(output, out, kindsOf(map), paths, skipRefused, (workspace, report, onRead) =>
    convertCsv(map, mapPath, workspace, report, onRead),
  );
}

async function convert(
  output: Output,
  directory: string,
  kinds: readonly Kind[],
  paths: readonly string[],
  skipRefused: boolean,
  work: Convert,
): Promise<number> {
  const totalBytes = paths.reduce((sum, path) => sum + sizeOf(path), 0);
  checkOutputDirectory(directory);
  const workspace = new Workspace();
  const report = new ConversionReport();
  const progress = startProgress(output, 'Interrupted; nothing was written.');
  let bytes = 0;
  try {
    await work(workspace, report, (count) => {
      bytes += count;
      progress.show('Converting', bytes, totalBytes);
    });
    const isWritten = report.refusals.length === 0 || skipRefused;
    const written = isWritten ? await writeDirectory(workspace, directory, kinds, progress.throwIfInterrupted) : {};
    const others = isWritten ? otherFiles(directory, kinds) : [];
    if (others.length > 0) report.note(`${directory} still holds ${others.join(', ')} as before.`);
    progress.stop();
    describe(output, report, written, isWritten ? directory : null);
    return report.refusals.length === 0 ? 0 : 1;
  } finally {
    progress.stop();
    workspace.close();
  }
}

function describe(
  output: Output,
  report: ConversionReport,
  written: Record<string, number>,
  directory: string | null,
): void {
  const { read, dropped } = report.json(written) as Record<'read' | 'dropped', Record<string, number>>;
  const table = (heading: string, counts: Record<string, number>): string[] => {
    const rows = Object.entries(counts).map(([what, count]) => [String(count), what]);
    return rows.length === 0 ? [] : renderColumns([['', heading], ...rows], [0]);
  };
  const refused = report.refusals.length;
  const outcome =
    directory === null
      ? `error: ${refused} refused; nothing was written. Correct the input or the map, or pass --skip-refused.`
      : `Wrote ${directory}${refused === 0 ? '' : ` without the ${refused} refused`}. Next: pds import ${directory} --dry-run`;
  output.note([...report.refusals.map(describeRefusal), ...report.notes]);
  output.done(report.json(written), [
    ...table('READ', read),
    ...table('LEFT OUT OR ADAPTED', dropped),
    ...table('WRITTEN', written),
    outcome,
  ]);
}

function sizeOf(path: string): number {
  try {
    return statSync(path).size;
  } catch (error) {
    throw new OperatorError(`${path} cannot be read: ${(error as Error).message}`, { cause: error });
  }
}
