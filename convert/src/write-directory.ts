import { createWriteStream, existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { KINDS, type Kind } from './import-format.ts';
import { InputError } from './input-error.ts';
import type { Workspace } from './workspace.ts';

/**
 * Refuses a directory that holds anything but an earlier conversion, before hours of work are put into it.
 *
 * @throws InputError if it does, naming one of the other files.
 */
export function checkOutputDirectory(directory: string): void {
  if (!existsSync(directory)) return;
  // A conversion that was killed leaves files that end with `.new`.
  const names = new Set(KINDS.flatMap((kind) => [`${kind}.ndjson`, `${kind}.ndjson.new`, skippedFile(kind)]));
  const foreign = readdirSync(directory).find((name) => !names.has(name));
  if (foreign === undefined) return;
  throw new InputError(`--out ${directory} holds ${foreign}: name a new directory, or one of earlier conversions`);
}

/** The file beside a kind's that lists what a conversion skipped. An import that removes absent records shows it. */
function skippedFile(kind: Kind): string {
  return `${kind}.skipped.txt`;
}

/** The files of a directory that a conversion to these kinds leaves as they are. */
export function otherFiles(directory: string, kinds: readonly Kind[]): string[] {
  const others = KINDS.filter((kind) => !kinds.includes(kind)).map((kind) => `${kind}.ndjson`);
  return others.filter((name) => existsSync(join(directory, name)));
}

/**
 * Writes the records as an import directory: a file for each kind that has any, sorted by id.
 *
 * @param kinds those that the conversion can write. Their files from an earlier conversion are replaced or removed; files
 *   of other kinds are from another conversion, and stay.
 * @param describeSkipped what is missing from the records of a kind, as lines.
 * @param throwIfInterrupted called for each record, and before the files are replaced together.
 * @returns the number of records of each kind.
 */
export async function writeDirectory(
  workspace: Workspace,
  directory: string,
  kinds: readonly Kind[],
  describeSkipped: (kind: Kind) => readonly string[],
  throwIfInterrupted: () => void,
): Promise<Record<string, number>> {
  mkdirSync(directory, { recursive: true });
  const written: Record<string, number> = {};
  const pathOf = (kind: Kind): string => join(directory, `${kind}.ndjson`);
  const removeNew = (): void => {
    for (const kind of KINDS) rmSync(`${pathOf(kind)}.new`, { force: true });
  };
  removeNew();
  // A second signal ends the process at once.
  process.once('exit', removeNew);
  try {
    for (const kind of kinds) {
      const lines = function* (): Generator<string> {
        for (const json of workspace.records(kind)) {
          throwIfInterrupted();
          written[kind] = (written[kind] ?? 0) + 1;
          yield `${json}\n`;
        }
      };
      await pipeline(Readable.from(lines()), createWriteStream(`${pathOf(kind)}.new`, { flags: 'wx' }));
    }
    throwIfInterrupted();
    for (const kind of kinds) {
      const note = join(directory, skippedFile(kind));
      const skipped = describeSkipped(kind);
      const isNoted = skipped.length > 0 && written[kind] !== undefined;
      // There at every moment at which the file lacks something.
      if (isNoted) writeNew(note, `${skipped.join('\n')}\n`);
      if (written[kind] === undefined) rmSync(pathOf(kind), { force: true });
      else renameSync(`${pathOf(kind)}.new`, pathOf(kind));
      if (!isNoted) rmSync(note, { force: true });
    }
    return written;
  } finally {
    process.off('exit', removeNew);
    removeNew();
  }
}

/** Replaces a file. `wx` never writes through a link. */
function writeNew(path: string, text: string): void {
  rmSync(path, { force: true });
  writeFileSync(path, text, { flag: 'wx' });
}
