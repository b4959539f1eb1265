import { createReadStream } from 'node:fs';
import { open, readdir, realpath, stat } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { ImportRefusedError, problemOf, type Problem } from '../problems.ts';
import { KINDS, type Kind } from '../../kinds.ts';
import { UnreadableFileError } from './lines.ts';

/** One kind's records, from any source. */
export interface Source {
  kind: Kind;
  /** The name that problems are reported under. */
  name: string;
  /** Size on disk in bytes, for progress; 0 if unknown. */
  size: number;
  /**
   * The uncompressed bytes; a chunk is valid until the next one is read. `onRead` receives the number of bytes read from
   * disk since its last call.
   */
  open(onRead?: (bytes: number) => void): AsyncIterable<Uint8Array>;
}

/** Records compress to between a fifth and a twentieth of their size; a decompression bomb to a thousandth. */
const MAX_EXPANSION_RATIO = 250;

/** Below this size any expansion is harmless. */
const HARMLESS_BYTES = 64 * 1024 * 1024;

const FILE_NAME = /^(.+)\.ndjson(\.gz)?$/s;

/**
 * The import files of a directory, in dependency order.
 *
 * @throws ImportRefusedError if the directory cannot be read, has no import file, has a kind twice, a file of an
 *   unknown kind or of another format, or an entry that is not a regular file within it.
 */
export async function listSources(directory: string): Promise<Source[]> {
  const names = await readdir(directory).catch((error: unknown) => refuse(directory, whyNoDirectory(directory, error)));
  const folder = await realpath(directory);
  const sources = new Map<Kind, Source>();
  const misnamed: Problem[] = [];
  for (const name of names.sort()) {
    const [, stem, gz] = FILE_NAME.exec(name) ?? [];
    if (stem === undefined) continue;
    const kind = KINDS.find((known) => known === stem);
    if (kind === undefined) {
      misnamed.push(problemOf(name, `is not an import file; ${FILES}`));
      continue;
    }
    const other = sources.get(kind);
    if (other !== undefined)
      return refuse(name, `contains the same kind of records as ${other.name}; keep only one of them`);
    const file = await findFile(folder, name).catch((error: unknown) => refuse(name, (error as Error).message));
    if (file === null) return refuse(name, 'is not a regular file in this directory; links must not lead out of it');
    const { path, size } = file;
    sources.set(kind, { kind, name, size, open: (onRead) => (gz === undefined ? readPlain : readGzip)(path, onRead) });
  }
  for (const name of names) {
    const advice = FILE_NAME.test(name) ? null : adviceFor(name, sources);
    if (advice !== null) misnamed.push(problemOf(name, advice));
  }
  if (misnamed.length > 0) throw new ImportRefusedError(misnamed);
  if (sources.size === 0) return refuse(directory, `contains no import file; ${FILES}`);
  return KINDS.flatMap((kind) => sources.get(kind) ?? []);
}

const FILES = `the files are ${KINDS.join('.ndjson, ')}.ndjson, each optionally .gz`;

function refuse(file: string, reason: string): never {
  throw new ImportRefusedError([problemOf(file === '' ? "''" : file, reason)]);
}

function whyNoDirectory(directory: string, error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return 'does not exist';
  if (code !== 'ENOTDIR') return message;
  return `is a file; give its directory${directory.includes('/') ? `, ${dirname(directory)}` : ', .'}`;
}

/** The extensions of import files as others name them, and of formats that hold records. */
const OTHER_NAMES = /^(ndjson|jsonl|jsonlines|ldjson)(\.gz)?$/;
const OTHER_FORMATS = /^(json|csv|tsv|xlsx?|ods|xml|ya?ml|parquet|(\w+\.)?(zip|gz|bz2|xz|zst|7z|tar|tgz))$/;

/** Advice for a file that has the name of a kind, but not the format of imports; null for any other file. */
function adviceFor(name: string, sources: ReadonlyMap<Kind, Source>): string | null {
  const [stem = '', ...rest] = name.toLowerCase().split('.');
  const kind = KINDS.find((known) => known === stem.replaceAll(/[ _]/g, '-'));
  const extension = rest.join('.');
  // Next to a kind's import file, a file of another format is probably what it was converted from.
  if (kind === undefined || sources.has(kind)) return null;
  const file = `${kind}.ndjson${OTHER_NAMES.exec(extension)?.[2] ?? ''}`;
  if (OTHER_NAMES.test(extension)) return `is not read. If it has one JSON object per line, rename it ${file}`;
  return OTHER_FORMATS.test(extension)
    ? `is not read: one JSON object per line is expected, in ${file} or ${file}.gz. Convert it`
    : null;
}

/**
 * Resolves a file name in a directory, whose path must be free of links; null if it is not a regular file within it.
 * Kubernetes volumes consist of links. One that leads out could make any file that the operator can read appear in a
 * report; a pipe may never end.
 */
export async function findFile(folder: string, name: string): Promise<{ path: string; size: number } | null> {
  const path = await realpath(join(folder, name));
  if (!path.startsWith(folder.endsWith(sep) ? folder : folder + sep)) return null;
  const stats = await stat(path);
  return stats.isFile() ? { path, size: stats.size } : null;
}

/** Some hundred records: few round trips to the database, and little memory. */
const CHUNK_BYTES = 1024 * 1024;

/** Reads a file into one buffer, which is reused: V8 would collect its whole heap after every few new buffers. */
async function* readPlain(path: string, onRead?: (bytes: number) => void): AsyncGenerator<Uint8Array> {
  const file = await open(path);
  try {
    const chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
    for (;;) {
      const { bytesRead } = await file.read(chunk);
      if (bytesRead === 0) return;
      onRead?.(bytesRead);
      yield chunk.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}

/** @throws UnreadableFileError if an archive unpacks to far more than its size. */
async function* readGzip(path: string, onRead?: (bytes: number) => void): AsyncGenerator<Uint8Array> {
  const file = createReadStream(path);
  let reported = 0;
  let bytes = 0;
  // A broken file or archive ends the iteration with its error; nothing to do here.
  const chunks: AsyncIterable<Uint8Array> = pipeline(file, createGunzip({ chunkSize: CHUNK_BYTES }), () => undefined);
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > HARMLESS_BYTES && bytes > MAX_EXPANSION_RATIO * file.bytesRead) {
      throw new UnreadableFileError(`it unpacks to more than ${MAX_EXPANSION_RATIO} times its size`);
    }
    onRead?.(file.bytesRead - reported);
    reported = file.bytesRead;
    yield chunk;
  }
}
