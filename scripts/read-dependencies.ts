import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Dependencies, Installation, Lock, Manifest } from './dependency-rules.ts';

export const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** Folders whose code runs in production, but for `convert/`. */
const SOURCES = ['src', 'sample'];

/** Reads the project's dependencies, as the rules need them. */
export function readDependencies(): Dependencies {
  const read = (path: string): string => readFileSync(ROOT + path, 'utf8');
  const sourcesIn = (folder: string): [path: string, text: string][] =>
    readdirSync(ROOT + folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.[jt]s$/.test(name))
      .map((name) => [`${folder}/${name}`, read(`${folder}/${name}`)]);
  const manifestIn = (folder: string): Manifest =>
    Object.assign({ dependencies: {}, allowScripts: {} }, JSON.parse(read(`${folder}package.json`))) as Manifest;
  const installationIn = (folder: string): Installation => ({
    manifest: manifestIn(folder),
    lock: JSON.parse(read(`${folder}package-lock.json`)) as Lock,
  });
  return {
    ...installationIn(''),
    tools: installationIn('tools/'),
    mcp: { ...installationIn('mcp/'), sources: Object.fromEntries(sourcesIn('mcp/src')) },
    guide: read('docs/dependencies.md'),
    sources: Object.fromEntries(SOURCES.flatMap(sourcesIn)),
    convert: { manifest: manifestIn('convert/'), sources: Object.fromEntries(sourcesIn('convert/src')) },
  };
}
