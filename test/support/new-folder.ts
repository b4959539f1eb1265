import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** Creates a temporary folder, which is removed after the last test of the file. */
export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'pds-test-'));
  folders.push(folder);
  return folder;
}
