import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Dependencies, Lock, Manifest } from './dependency-rules.ts';

export const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** Folders whose code runs in production. */
const SOURCES = ['src', 'migrations', 'sample'];

/** Reads the project's dependencies, as the rules need them. */
export function readDependencies(): Dependencies {
  const read = (path: string): string => readFileSync(ROOT + path, 'utf8');
  const paths = SOURCES.flatMap((folder) =>
    readdirSync(ROOT + folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.[jt]s$/.test(name))
      .map((name) => `${folder}/${name}`),
  );
  return {
    manifest: JSON.parse(read('package.json')) as Manifest,
    lock: JSON.parse(read('package-lock.json')) as Lock,
    guide: read('docs/dependencies.md'),
    sources: Object.fromEntries(paths.map((path) => [path, read(path)])),
  };
}
