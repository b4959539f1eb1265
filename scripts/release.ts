import { execFileSync } from 'node:child_process';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './read-dependencies.ts';

// npm run release VERSION: gives this checkout the version, dates the changelogs, and commits.

/** The service with its version, as in folders, tags of images and the terminal. */
const NAMED_VERSION = /(?<=partner-data-service[ :/])\d+\.\d+\.\d+/g;

/** The manifests and lock files of the packages that have the service's version. The client and `mcp/` have their own. */
const MANIFESTS = ['.', 'convert', 'portal', 'tools'].map((folder) => join(folder, 'package.json'));
const LOCKS = ['package-lock.json', join('tools', 'package-lock.json')];

/** The documents that name the service with its version. */
const DOCUMENTS = [
  'README.md',
  'test/docs/command-blocks.ts',
  ...globSync(['docs/operators/*.md', 'ops/*.yaml'], { cwd: ROOT }),
].sort();

/** Every version of the service that the checkout names, with the file. */
export function namedVersions(): { file: string; version: string }[] {
  const ofPackages = MANIFESTS.map((file) => ({
    file,
    version: (JSON.parse(read(file)) as { version: string }).version,
  }));
  const inDocuments = DOCUMENTS.flatMap((file) =>
    (read(file).match(NAMED_VERSION) ?? []).map((version) => ({ file, version })),
  );
  return [...ofPackages, ...inDocuments];
}

/** A manifest or lock file in which our packages, and the dependency on one, have another version. */
export function withPackageVersion(json: string, version: string): string {
  const ours = /("name": "partner-data-(?!client)[a-z]+",\s+"version": |"partner-data-convert": )"[^"]*"/g;
  return json.replace(ours, `$1"${version}"`);
}

/**
 * A changelog with its unreleased changes under `heading`, such as `## [1.3.0] - 2026-11-26`.
 *
 * @throws Error if nothing is unreleased.
 */
export function withReleasedChanges(changelog: string, heading: string): string {
  const unreleased = /^## \[?Unreleased\]?\n\n(?!## )/m;
  if (!unreleased.test(changelog)) throw new Error('a changelog has no unreleased changes');
  return changelog.replace(unreleased, `${heading}\n\n`);
}

function release(version: string, today: string): void {
  if (git('status', '--porcelain') !== '') throw new Error('the working tree has changes: commit them first');
  const changed = new Map<string, string>([
    ...[...MANIFESTS, ...LOCKS].map((file) => [file, withPackageVersion(read(file), version)] as const),
    ...DOCUMENTS.map((file) => [file, read(file).replace(NAMED_VERSION, version)] as const),
    ['CHANGELOG.md', withReleasedChanges(read('CHANGELOG.md'), `## [${version}] - ${today}`)],
    ['docs/partner-guide/changelog.md', withReleasedChanges(read('docs/partner-guide/changelog.md'), `## ${version}`)],
  ]);
  for (const [file, text] of changed) writeFileSync(join(ROOT, file), text);
  git('commit', '--quiet', '--all', '--message', `Release ${version}`);
  process.stdout.write(`Committed "Release ${version}". Check it with .ci/run, then: git tag v${version}\n`);
}

function read(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8');
}

function git(...words: string[]): string {
  return execFileSync('git', words, { cwd: ROOT, encoding: 'utf8' });
}

if (import.meta.main) {
  const [, , version = ''] = process.argv;
  if (!/^\d+\.\d+\.\d+$/.test(version)) {
    process.stderr.write('usage: npm run release VERSION, such as 1.3.0\n');
    process.exit(2);
  }
  release(version, new Date().toISOString().slice(0, 10));
}
