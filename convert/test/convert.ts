import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { KINDS } from '../src/import-format.ts';
import { convertCsv } from '../src/csv/convert-csv.ts';
import { fieldsOf } from '../src/csv/fields.ts';
import { parseMap } from '../src/csv/map-file.ts';
import { convertOcds } from '../src/ocds/convert-ocds.ts';
import type { OcdsOptions } from '../src/ocds/options.ts';
import { ConversionReport } from '../src/report.ts';
import { Workspace } from '../src/workspace.ts';
import { recordChecker } from '../../src/publishing/read/record-checker.ts';
import { RECORD_SCHEMAS } from '../../src/publishing/read/record-schemas.ts';
import { writeDirectory } from '../src/write-directory.ts';

/** The fields of the service's own records. */
export const FIELDS = fieldsOf(RECORD_SCHEMAS);

export const OPTIONS: OcdsOptions = {
  contracts: 'current',
  asOf: '2020-01-01T00:00:00.000Z',
  zone: null,
  statuses: {},
  services: [],
};

export interface Converted {
  /** The text of each file by its kind. */
  files: Record<string, string>;
  /** The parsed lines of a file. */
  readonly records: (kind: string) => Record<string, unknown>[];
  /** The names in a file, sorted. */
  readonly names: (kind: string) => unknown[];
  refusals: string[];
  report: Record<string, Record<string, number>>;
  directory: string;
}

/** A folder that is removed after the test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'pds-test-convert-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Writes files into a new folder and returns their paths. */
export function filesOf(contents: Record<string, string | Buffer>): string[] {
  const folder = temporaryFolder();
  return Object.entries(contents).map(([name, content]) => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  });
}

/** Converts OCDS: paths, or values that are written as one file each. */
export async function convertedOcds(
  inputs: readonly (string | object)[],
  options: Partial<OcdsOptions> = {},
): Promise<Converted> {
  const paths = inputs.map((input, index) =>
    typeof input === 'string' ? input : (filesOf({ [`input-${index}.json`]: JSON.stringify(input) })[0] ?? ''),
  );
  return converted((workspace, report) =>
    convertOcds(paths, { ...OPTIONS, ...options }, workspace, report, () => undefined),
  );
}

/** Converts CSV files by a map. */
export async function convertedCsv(map: object, contents: Record<string, string | Buffer>): Promise<Converted> {
  const [first = ''] = filesOf(contents);
  return converted((workspace, report) =>
    convertCsv(
      parseMap(JSON.stringify(map), 'map.json', FIELDS),
      join(first, '../map.json'),
      workspace,
      report,
      () => undefined,
    ),
  );
}

async function converted(
  convert: (workspace: Workspace, report: ConversionReport) => Promise<void>,
): Promise<Converted> {
  const directory = join(temporaryFolder(), 'out');
  const workspace = new Workspace(recordChecker());
  const report = new ConversionReport();
  try {
    await convert(workspace, report);
    const written = await writeDirectory(
      workspace,
      directory,
      KINDS,
      () => [],
      () => undefined,
    );
    const names = readdirSync(directory).sort();
    const files = Object.fromEntries(
      names.map((name) => [name.replace('.ndjson', ''), readFileSync(join(directory, name), 'utf8')]),
    );
    const records: Converted['records'] = (kind) =>
      (files[kind] ?? '')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as Record<string, unknown>);
    return {
      files,
      records,
      names: (kind) =>
        records(kind)
          .map(({ name }) => name)
          .sort(),
      refusals: report.describeRefusals(),
      report: report.json(written) as Converted['report'],
      directory,
    };
  } finally {
    workspace.close();
  }
}
