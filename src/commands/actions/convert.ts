import { dirname, resolve } from 'node:path';
import {
  checkOutputDirectory,
  ConversionReport,
  convertCsv,
  convertOcds,
  fieldsOf,
  getFileSize,
  kindsOf,
  OCDS_KINDS,
  otherFiles,
  parseMap,
  parseOcdsMap,
  readText,
  sketchMap,
  Workspace,
  writeDirectory,
  type OcdsOptions,
} from 'partner-data-convert';
import type { Kind } from '../../kinds.ts';
import { OperatorError } from '../../operator-error.ts';
import { recordChecker } from '../../publishing/read/record-checker.ts';
import { RECORD_SCHEMAS } from '../../publishing/read/record-schemas.ts';
import { formatTimestamp } from '../../timestamp.ts';
import { renderColumns, type Output } from '../output/output.ts';
import { startProgress } from '../output/progress.ts';

interface ConvertOcdsOptions extends Partial<Omit<OcdsOptions, 'contracts' | 'statuses' | 'services'>> {
  readonly out: string;
  readonly map?: string;
  readonly contracts: OcdsOptions['contracts'];
  readonly skipRefused?: boolean;
}

interface ConvertCsvOptions {
  readonly out?: string;
  readonly map?: string;
  readonly sketch?: readonly string[];
  readonly skipRefused?: boolean;
}

type Convert = (workspace: Workspace, report: ConversionReport, onRead: (bytes: number) => void) => Promise<void>;

/** `pds convert ocds`: writes OCDS files as an import directory. Returns exit code 1 if anything was refused. */
export async function convertFromOcds(
  output: Output,
  paths: readonly string[],
  { out, map, skipRefused = false, ...options }: ConvertOcdsOptions,
): Promise<number> {
  const mapped = map === undefined ? { statuses: {}, services: [] } : parseOcdsMap(readText(map), map);
  const { contracts, asOf = formatTimestamp(Date.now()), zone = null } = options;
  return convert(output, out, OCDS_KINDS, paths, skipRefused, async (workspace, report, onRead) => {
    if (contracts === 'current') report.note(`Contracts that ended before ${asOf} are left out (--as-of).`);
    await convertOcds(paths, { contracts, asOf, zone, ...mapped }, workspace, report, onRead);
  });
}

/**
 * `pds convert csv`: writes CSV files as an import directory, by a map; or prints a first map of files. Returns exit
 * code 1 if anything was refused.
 */
export async function convertFromCsv(
  output: Output,
  { out, map: mapPath, sketch, skipRefused = false }: ConvertCsvOptions,
): Promise<number> {
  if (sketch !== undefined) {
    for (const path of sketch) getFileSize(path);
    const { map, remarks } = await sketchMap(sketch, fieldsOf(RECORD_SCHEMAS));
    const lines = JSON.stringify(map, null, 2).split('\n');
    const marked = lines.filter((line) => line.includes('"(choose ')).length;
    const remark = marked === 0 ? [] : [`Fill in the ${marked} lines marked (choose …), and check the others.`];
    output.result(map, lines, [...remarks, ...remark]);
    return 0;
  }
  if (mapPath === undefined || out === undefined) throw new OperatorError('pass --map and --out, or --sketch FILE.csv');
  const map = parseMap(readText(mapPath), mapPath, fieldsOf(RECORD_SCHEMAS));
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
  const totalBytes = paths.reduce((sum, path) => sum + getFileSize(path), 0);
  checkOutputDirectory(directory);
  const workspace = new Workspace(recordChecker());
  const report = new ConversionReport();
  const progress = startProgress(output, 'Interrupted; nothing was written.');
  let bytes = 0;
  try {
    await work(workspace, report, (count) => {
      bytes += count;
      progress.show('Converting', bytes, totalBytes);
    });
    const isWritten = report.refused === 0 || skipRefused;
    const refusalsOf = (kind: Kind): string[] => report.describeRefusals(kind);
    const written = isWritten
      ? await writeDirectory(workspace, directory, kinds, refusalsOf, progress.throwIfInterrupted)
      : {};
    const others = isWritten ? otherFiles(directory, kinds) : [];
    if (others.length > 0) report.note(`${directory} still holds ${others.join(', ')} as before.`);
    progress.stop();
    describe(output, report, written, isWritten ? directory : null);
    return report.refused === 0 ? 0 : 1;
  } finally {
    progress.stop();
    workspace.close();
  }
}

function describe(output: Output, report: ConversionReport, written: Record<string, number>, directory: string | null) {
  const { read, dropped } = report.json(written) as Record<'read' | 'dropped', Record<string, number>>;
  const table = (heading: string, counts: Record<string, number>): string[] => {
    const rows = Object.entries(counts).map(([what, count]) => [String(count), what]);
    return rows.length === 0 ? [] : renderColumns([['', heading], ...rows], [0]);
  };
  const { refused } = report;
  const outcome =
    directory === null
      ? `error: ${refused} refused; nothing was written. Correct the input or the map, or pass --skip-refused.`
      : `Wrote ${directory}${refused === 0 ? '' : ` without the ${refused} refused`}. Next: pds diff ${directory}`;
  output.note([...report.describeRefusals(), ...report.notes]);
  output.done(report.json(written), [
    ...table('READ', read),
    ...report.describeMerged(),
    ...table('LEFT OUT OR ADAPTED', dropped),
    ...table('WRITTEN', written),
    outcome,
  ]);
}
