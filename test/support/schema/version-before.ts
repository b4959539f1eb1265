import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { runPdsOf } from '../../commands/run-pds.ts';
import { takeOutVersionBefore } from '../../upgrade/version-before.ts';
import { withImportDirectory, type ImportLines } from '../publishing.ts';

let folder: string | null = null;
let before: string | null = null;
afterAll(() => {
  if (folder !== null) rmSync(folder, { recursive: true, force: true });
});

/** The command of the version before, taken out once for each test file. */
function versionBefore(): string {
  folder ??= mkdtempSync(join(tmpdir(), 'pds-before-'));
  return (before ??= takeOutVersionBefore(folder));
}

/** Runs a command of the version before. */
export async function runBefore(url: string, ...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await runPdsOf(versionBefore(), words, { PDS_DATABASE_URL: url });
  if (code !== 0) throw new Error(stderr);
  return stdout.trim();
}

/** Imports records with the version before. */
export async function importBefore(url: string, lines: ImportLines): Promise<void> {
  await withImportDirectory(lines, (directory) => runBefore(url, 'import', directory, '--replace', '--yes'));
}
