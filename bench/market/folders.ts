import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** A digest of source files; data generated from other sources is regenerated. Skips folders that do not exist. */
export function digestOf(...folders: string[]): string {
  const hash = createHash('sha256');
  for (const folder of folders.filter((name) => existsSync(join(ROOT, name)))) {
    const files = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).filter((name) =>
      /\.(ts|sql)$/.test(name),
    );
    for (const file of files.sort()) hash.update(file).update(readFileSync(join(ROOT, folder, file)));
  }
  return hash.digest('hex').slice(0, 16);
}

/** Reads the content of a marker file; null if there is none or its digest differs. */
export function readMarker(file: string, digest: string): unknown {
  if (!existsSync(file)) return null;
  const marker = JSON.parse(readFileSync(file, 'utf8')) as { digest: string; content: unknown };
  return marker.digest === digest ? marker.content : null;
}

export function writeMarker(file: string, digest: string, content: unknown): void {
  writeFileSync(file, JSON.stringify({ digest, content }));
}
