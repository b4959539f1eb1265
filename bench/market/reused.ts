import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** A digest of the source files in folders. */
export function digestOf(...folders: string[]): string {
  const hash = createHash('sha256');
  for (const folder of folders) {
    const files = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' });
    for (const file of files.filter((name) => /\.(ts|sql)$/.test(name)).sort()) {
      hash.update(file).update(readFileSync(join(ROOT, folder, file)));
    }
  }
  return hash.digest('hex').slice(0, 16);
}

/** Returns what `make` returned in an earlier run, if it made it from the same sources; otherwise calls it. */
export async function reuse<T>(marker: string, sources: readonly string[], make: () => T | Promise<T>): Promise<T> {
  const digest = digestOf(...sources);
  if (existsSync(marker)) {
    const made = JSON.parse(readFileSync(marker, 'utf8')) as { digest: string; content: T };
    if (made.digest === digest) return made.content;
  }
  const content = await make();
  writeFileSync(marker, JSON.stringify({ digest, content }));
  return content;
}
