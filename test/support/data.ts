import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readRecords } from '../model/records.ts';
import { generatedRecords, writeRecords } from './generated-records.ts';

const SAMPLE = fileURLToPath(new URL('../../sample', import.meta.url));

/** Real records beside the repository; they are larger, and their licence keeps some of them out of it. */
const BESIDE = ['cooperative', 'scottsdale'].map((name) =>
  fileURLToPath(new URL(`../../../shared/data/${name}`, import.meta.url)),
);

/** Directories of real records in the import format: those beside the repository, or else its own sample. */
export function realDirectories(): string[] {
  if (BESIDE.every((directory) => existsSync(directory))) return BESIDE;
  process.stderr.write(`No real records at ${BESIDE.join(', ')}: testing with those of ${SAMPLE} alone.\n`);
  return [SAMPLE];
}

/** Real and generated records; the generated ones name some of the real. Removed with `remove()`. */
export function createDirectories(seed: number): { directories: string[]; remove(): void } {
  const real = realDirectories();
  const records = readRecords(real.map((path) => ({ path, publishedAt: '' })));
  const some = (ids: Iterable<string>, most: number): string[] => [...ids].slice(0, most);
  const folder = mkdtempSync(join(tmpdir(), 'pds-records-'));
  writeRecords(
    folder,
    generatedRecords(seed, {
      leadEntities: some(records.leadEntities.keys(), 10),
      coops: some(records.coops.keys(), 2),
      suppliers: some(records.suppliers.keys(), 40),
      cityServices: some(records.cityServices.keys(), 10),
    }),
  );
  return { directories: [...real, folder], remove: () => rmSync(folder, { recursive: true, force: true }) };
}
