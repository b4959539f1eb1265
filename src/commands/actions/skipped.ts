import { createReadStream } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { findFile, type Source } from '../../publishing/read/source.ts';

/** Longer than any note of a conversion. */
const MAX_BYTES = 128 * 1024;

/**
 * Describes what a conversion skipped when it wrote these sources, as lines: an import that removes what its files do not
 * contain would remove those records. Empty if it skipped nothing.
 */
export async function describeSkipped(directory: string, sources: readonly Source[]): Promise<string[]> {
  const folder = await realpath(directory);
  const kinds: string[] = [];
  const lines = new Set<string>();
  for (const { kind } of sources) {
    const file = await findFile(folder, `${kind}.skipped.txt`).catch(() => null);
    if (file === null) continue;
    const chunks = (await createReadStream(file.path, { end: MAX_BYTES - 1 }).toArray()) as Buffer[];
    kinds.push(kind);
    for (const line of Buffer.concat(chunks).toString().trimEnd().split('\n')) lines.add(line);
  }
  if (kinds.length === 0) return [];
  return [...lines, `The conversion skipped these. --replace removes their records of ${kinds.join(', ')}.`];
}
