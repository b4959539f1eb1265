import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { namedVersions, withPackageVersion, withReleasedChanges } from '../../scripts/release.ts';
import { ROOT } from './documents.ts';

test('packages and documents name one version of the service', () => {
  const versions = namedVersions();
  expect(new Set(versions.map(({ file }) => file)).size).toBeGreaterThan(6);
  expect(new Set(versions.map(({ version }) => version)).size, JSON.stringify(versions)).toBe(1);
});

test('a release sets the version of our packages and of nothing else', () => {
  const lock = readFileSync(`${ROOT}/package-lock.json`, 'utf8');
  const released = JSON.parse(withPackageVersion(lock, '9.8.7')) as typeof expected;
  const expected = JSON.parse(lock) as {
    version: string;
    packages: Record<string, { version: string; dependencies: Record<string, string> }>;
  };
  expected.version = '9.8.7';
  for (const folder of ['', 'convert', 'portal']) Object.assign(expected.packages[folder] ?? {}, { version: '9.8.7' });
  Object.assign(expected.packages['']?.dependencies ?? {}, { 'partner-data-convert': '9.8.7' });
  expect(released).toEqual(expected);
});

test('a release puts what is unreleased under its version, and refuses if there is nothing', () => {
  const changelog = '# Changelog\n\n## [Unreleased]\n\n- New.\n\n## [1.0.0] - 2026-01-01\n';
  const heading = '## [1.1.0] - 2026-02-03';
  expect(withReleasedChanges(changelog, heading)).toBe(changelog.replace('## [Unreleased]', heading));
  expect(() => withReleasedChanges('# Changelog\n\n## [1.0.0] - 2026-01-01\n', heading)).toThrow('no unreleased');
});
