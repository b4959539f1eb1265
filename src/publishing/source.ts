import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { ImportRefusedError } from './problems.ts';
import { RECORD_KINDS, type RecordKind } from './records.ts';

/** One kind's records, from wherever they come. */
export interface Source {
  kind: RecordKind;
  /** What problems name it by. */
  name: string;
  /** Bytes on disk, for the progress; 0 where unknown. */
  size: number;
  /** The bytes, uncompressed. `onRead` is told of every byte taken from the disk. */
  open(onRead?: (bytes: number) => void): AsyncIterable<Uint8Array>;
}

const FILE_NAME = /^(.+)\.ndjson(\.gz)?$/;

/**
 * The import files of a directory, in the order in which records refer to each other.
 *
 * @throws ImportRefusedError where it cannot be read, holds none, one twice or one of an unknown kind.
 */
export async function listSources(directory: string): Promise<Source[]> {
  const refuse = (file: string, reason: string): never => {
    throw new ImportRefusedError([{ file: file === '' ? "''" : file, line: null, field: '', reason }]);
  };
  const names = await readdir(directory).catch((error: unknown) => {
    const { code, message } = error as NodeJS.ErrnoException;
    return refuse(directory, code === 'ENOENT' || code === 'ENOTDIR' ? 'is no directory' : message);
  });
  const sources = new Map<RecordKind, Source>();
  for (const name of names.sort()) {
    const [, stem, gz] = FILE_NAME.exec(name) ?? [];
    if (stem === undefined) continue;
    const kind = RECORD_KINDS.find((known) => known === stem);
    if (kind === undefined) {
      return refuse(
        name,
        `is of no known kind; the files are ${RECORD_KINDS.join('.ndjson, ')}.ndjson, each optionally .gz`,
      );
    }
    const other = sources.get(kind);
    if (other !== undefined) return refuse(name, `holds the same kind as ${other.name}; leave one of them`);
    sources.set(kind, await fileSource(kind, directory, name, gz !== undefined));
  }
  if (sources.size === 0) {
    return refuse(
      directory,
      `holds no import file; the files are ${RECORD_KINDS.join('.ndjson, ')}.ndjson, each optionally .gz`,
    );
  }
  return RECORD_KINDS.flatMap((kind) => sources.get(kind) ?? []);
}

async function fileSource(kind: RecordKind, directory: string, name: string, isGzip: boolean): Promise<Source> {
  const path = join(directory, name);
  const { size } = await stat(path);
  return {
    kind,
    name,
    size,
    open: (onRead) => {
      const bytes = counted(createReadStream(path, { highWaterMark: 256 * 1024 }), onRead);
      // A broken file or archive ends the iteration with the error; there is nothing left to do here.
      return isGzip ? pipeline(bytes, createGunzip(), () => undefined) : bytes;
    },
  };
}

async function* counted(
  chunks: AsyncIterable<Uint8Array>,
  onRead: ((bytes: number) => void) | undefined,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    onRead?.(chunk.length);
    yield chunk;
  }
}
