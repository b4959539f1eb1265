import { createWriteStream, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { KINDS } from '../kinds.ts';
import type { Workspace } from './workspace.ts';

/** The output directory holds other files; the message names one. */
export class OutputDirectoryError extends Error {
  override name = 'OutputDirectoryError';
}

/**
 * Refuses a directory that holds anything but an earlier conversion, before hours of work are put into it.
 *
 * @throws OutputDirectoryError
 */
export function checkOutputDirectory(directory: string): void {
  if (!existsSync(directory)) return;
  const foreign = readdirSync(directory).find((name) => !KINDS.some((kind) => name === `${kind}.ndjson`));
  if (foreign === undefined) return;
  throw new OutputDirectoryError(`--out ${directory} holds ${foreign}: name a new or empty directory`);
}

/**
 * Writes the records as an import directory: a file for each kind that has any, sorted by id. Files of an earlier
 * conversion are replaced.
 *
 * @returns the number of records of each kind.
 */
export async function writeDirectory(workspace: Workspace, directory: string): Promise<Record<string, number>> {
  mkdirSync(directory, { recursive: true });
  const written: Record<string, number> = {};
  for (const kind of KINDS) {
    const path = join(directory, `${kind}.ndjson`);
    let count = 0;
    const lines = function* (): Generator<string> {
      for (const json of workspace.records(kind)) {
        count += 1;
        yield `${json}\n`;
      }
    };
    await pipeline(Readable.from(lines()), createWriteStream(`${path}.new`));
    if (count > 0) {
      renameSync(`${path}.new`, path);
      written[kind] = count;
    } else {
      rmSync(`${path}.new`);
      rmSync(path, { force: true });
    }
  }
  return written;
}
