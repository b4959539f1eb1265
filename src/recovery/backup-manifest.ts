import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

import { Type, type Static } from 'typebox';
import { Value } from 'typebox/value';
import type { TableGroup } from '../database/migrations/migration.ts';
import { MIGRATIONS } from '../database/migrations/migrations.ts';
import { digestFile } from './durable-files.ts';
import { RecoveryError } from './recovery-error.ts';

export const MANIFEST_FILE = 'backup.json';

/** The names of the files in a backup. */
export const BACKUP_FILES = { catalog: 'catalog.sqlite', access: 'access.sqlite' } as const;

/** The format of a backup's folder. A change that this version could not restore increments it. */
const FORMAT = 1;

const BackedUpFile = Type.Object({ name: Type.String(), bytes: Type.Integer(), sha256: Type.String() });

const Manifest = Type.Object({
  format: Type.Integer(),
  /** The version of the service that made it. */
  version: Type.String(),
  made_at: Type.String(),
  /** The last migration of each group. */
  schema: Type.Object({ catalog: Type.Integer(), access: Type.Integer() }),
  /** The timestamp of the last publication or change of grants. */
  last_event: Type.String(),
  files: Type.Object({ catalog: BackedUpFile, access: BackedUpFile }),
});

/** A backup's manifest, `backup.json`. */
export type BackupManifest = Static<typeof Manifest>;

/** Serializes a manifest in the current format. */
export function writeManifest(manifest: Omit<BackupManifest, 'format'>): string {
  return `${JSON.stringify({ format: FORMAT, ...manifest }, null, 2)}\n`;
}

/**
 * Reads a backup's manifest.
 *
 * @throws RecoveryError if the folder holds no backup, or one that this version cannot restore.
 */
export function readManifest(folder: string): BackupManifest {
  let parsed: unknown;
  try {
    parsed = JSON.parse(readFileSync(join(folder, MANIFEST_FILE), 'utf8'));
  } catch (error) {
    const isMissing = ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');
    throw new RecoveryError(
      isMissing
        ? `${folder} is not a backup: it has no ${MANIFEST_FILE}. Pass a folder created by "pds backup"`
        : `${join(folder, MANIFEST_FILE)} cannot be read: ${error instanceof Error ? error.message : String(error)}`,
      { cause: error },
    );
  }
  if ((parsed as { format?: unknown } | null)?.format !== FORMAT || !Value.Check(Manifest, parsed)) {
    throw new RecoveryError(
      `${join(folder, MANIFEST_FILE)} has a format that this version of the service does not support`,
    );
  }
  for (const group of ['catalog', 'access'] satisfies TableGroup[]) {
    const [backedUp, known] = [parsed.schema[group], MIGRATIONS[group].length];
    if (backedUp > known) {
      throw new RecoveryError(
        `the backup's ${group} schema is at ${backedUp}, and this version of the service supports only ${known}: ` +
          `restore it with version ${parsed.version}, or a newer one`,
      );
    }
  }
  return parsed;
}

/**
 * Compares a backup's files with its manifest.
 *
 * @throws RecoveryError if a file is missing or differs.
 */
export async function verifyFiles(
  folder: string,
  { files }: BackupManifest,
  onRead: (bytes: number) => void,
): Promise<void> {
  for (const group of ['catalog', 'access'] as const) {
    const path = join(folder, BACKUP_FILES[group]);
    const bytes = statSync(path, { throwIfNoEntry: false })?.size;
    const damaged = `${path} differs from the file that was backed up`;
    if (bytes === undefined) throw new RecoveryError(`${path} is missing: the backup is incomplete`);
    if (bytes !== files[group].bytes) {
      throw new RecoveryError(`${damaged}: it has ${bytes} bytes instead of ${files[group].bytes}`);
    }
    if ((await digestFile(path, onRead)) !== files[group].sha256) {
      throw new RecoveryError(`${damaged}: its SHA-256 differs. Use another backup, or another copy of this one`);
    }
  }
}
