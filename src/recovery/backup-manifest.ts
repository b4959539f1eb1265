import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import type { TableGroup } from '../database/migrations/schema.ts';
import { OLDEST_VERSION, SCHEMAS } from '../database/migrations/schemas.ts';
import { OperatorError } from '../operator-error.ts';
import { digestFile } from '../database/sqlite/durable-files.ts';

export const MANIFEST_FILE = 'backup.json';

export const BACKUP_FILES = { catalog: 'catalog.sqlite', access: 'access.sqlite' } as const;

/** The format of a backup's folder. A change that this version could not restore increments it. */
export const BACKUP_FORMAT = 1;

export interface BackupManifest {
  readonly format: number;
  /** The version of the service that made it. */
  readonly version: string;
  readonly made_at: string;
  /** The last migration of each group. */
  readonly schema: Readonly<Record<TableGroup, number>>;
  /** The timestamp of the last release or change of grants. */
  readonly last_event: string;
  readonly files: Readonly<
    Record<TableGroup, { readonly name: string; readonly bytes: number; readonly sha256: string }>
  >;
}

const objectOf = (properties: Readonly<Record<string, object>>): object => ({
  type: 'object',
  required: Object.keys(properties),
  properties,
});

const TEXT = { type: 'string' };
const INTEGER = { type: 'integer' };
const FILE_SCHEMA = objectOf({ name: TEXT, bytes: INTEGER, sha256: TEXT });

const MANIFEST_SCHEMA = objectOf({
  format: { const: BACKUP_FORMAT },
  version: TEXT,
  made_at: TEXT,
  schema: objectOf({ catalog: INTEGER, access: INTEGER }),
  last_event: TEXT,
  files: objectOf({ catalog: FILE_SCHEMA, access: FILE_SCHEMA }),
});

/** @throws OperatorError if the folder holds no backup, or one that this version cannot restore. */
export function readManifest(folder: string): BackupManifest {
  let parsed: unknown;
  try {
    parsed = JSON.parse(readFileSync(join(folder, MANIFEST_FILE), 'utf8'));
  } catch (error) {
    const reason = (error as Error).message;
    throw new OperatorError(
      `${folder} has no ${MANIFEST_FILE} that can be read (${reason}): pass a folder created by "pds backup"`,
      { cause: error },
    );
  }
  if (!new Ajv().validate<BackupManifest>(MANIFEST_SCHEMA, parsed)) {
    throw new OperatorError(
      `${join(folder, MANIFEST_FILE)} has a format that this version of the service does not support`,
    );
  }
  for (const group of ['catalog', 'access'] satisfies TableGroup[]) {
    const backedUp = parsed.schema[group];
    const { number: known, upgrade } = SCHEMAS[group];
    if (backedUp > known) {
      throw new OperatorError(
        `the backup's ${group} schema is at ${backedUp}, and this version of the service supports only ${known}: ` +
          `restore it with version ${parsed.version}, or a newer one`,
      );
    }
    if (backedUp < known && backedUp !== upgrade?.from) {
      throw new OperatorError(
        `the backup's ${group} schema is at ${backedUp}, which is older than version ${OLDEST_VERSION}: ` +
          `restore it with version ${OLDEST_VERSION}`,
      );
    }
  }
  return parsed;
}

/** @throws OperatorError if a file of the backup is missing or differs from the manifest. */
export async function verifyFiles(
  folder: string,
  { files }: BackupManifest,
  onProgress: (doneBytes: number, totalBytes: number) => void,
): Promise<void> {
  let doneBytes = 0;
  const onRead = (bytes: number): void => onProgress((doneBytes += bytes), files.catalog.bytes + files.access.bytes);
  for (const group of ['catalog', 'access'] as const) {
    const path = join(folder, BACKUP_FILES[group]);
    const bytes = statSync(path, { throwIfNoEntry: false })?.size;
    const damaged = `${path} differs from the file that was backed up`;
    if (bytes === undefined) throw new OperatorError(`${path} is missing: the backup is incomplete`);
    if (bytes !== files[group].bytes) {
      throw new OperatorError(`${damaged}: it has ${bytes} bytes instead of ${files[group].bytes}`);
    }
    if ((await digestFile(path, onRead)) !== files[group].sha256) {
      throw new OperatorError(`${damaged}: its SHA-256 differs. Use another backup, or another copy of this one`);
    }
  }
}
