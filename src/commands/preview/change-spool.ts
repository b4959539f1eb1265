import { closeSync, createReadStream, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Kind } from '../../kinds.ts';
import { OperatorError } from '../../operator-error.ts';
import { printableJson } from '../../printable.ts';
import type { ChangeSink, ChangeSort, RecordChange } from '../../publishing/preview/record-changes.ts';

interface SpoolFile {
  readonly descriptor: number;
  count: number;
}

/**
 * Holds the changes of a preview in temporary files until it has ended: they can be more than fit into memory, a refused
 * import must print none of them, and a slow reader of the output must not hold the import's lock.
 *
 * The files have no names, so that nothing is left if the process is killed.
 */
export class ChangeSpool implements ChangeSink {
  readonly #limit: number;
  readonly #files = new Map<string, SpoolFile>();

  /** @param limit the number of changes to hold of each kind and sort. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  room(kind: Kind, sort: ChangeSort): number {
    return this.#limit - this.count(kind, sort);
  }

  add(change: RecordChange): void {
    try {
      const file = this.#fileOf(change.kind, change.change);
      const line = Buffer.from(`${printableJson(JSON.stringify(change))}\n`);
      for (let start = 0; start < line.length;) start += writeSync(file.descriptor, line, start);
      file.count += 1;
    } catch (error) {
      const reason = (error as Error).message;
      throw new OperatorError(
        `the changes cannot be written to the temporary folder ${tmpdir()}: ${reason}. Set TMPDIR to a folder with ` +
          'space, or list fewer records with --show',
        { cause: error },
      );
    }
  }

  /** The number of changes held. */
  count(kind: Kind, sort: ChangeSort): number {
    return this.#files.get(`${kind} ${sort}`)?.count ?? 0;
  }

  /** The changes held, each as one line of printable JSON. */
  async *list(kind: Kind, sort: ChangeSort): AsyncGenerator<string> {
    const file = this.#files.get(`${kind} ${sort}`);
    if (file === undefined) return;
    const input = createReadStream('', { fd: file.descriptor, start: 0, autoClose: false });
    yield* createInterface({ input, crlfDelay: Infinity });
  }

  close(): void {
    for (const { descriptor } of this.#files.values()) closeSync(descriptor);
    this.#files.clear();
  }

  #fileOf(kind: Kind, sort: ChangeSort): SpoolFile {
    const name = `${kind} ${sort}`;
    const file = this.#files.get(name) ?? { descriptor: openNameless(), count: 0 };
    this.#files.set(name, file);
    return file;
  }
}

function openNameless(): number {
  const folder = mkdtempSync(join(tmpdir(), 'pds-changes-'));
  try {
    return openSync(join(folder, 'changes'), 'wx+', 0o600);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
