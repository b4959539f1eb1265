import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readRecords } from '../model/records.ts';
import { generatedRecords, writeRecords } from './records/generated-records.ts';

const SAMPLE = fileURLToPath(new URL('../../sample', import.meta.url));

/** Real records next to the repository: too large for it, and some under a licence that keeps them out. */
const BESIDE = ['cooperative', 'scottsdale'].map((name) =>
  fileURLToPath(new URL(`../../../shared/data/${name}`, import.meta.url)),
);

/** Directories of real records in the import format: those next to the repository, or else its sample. */
function realDirectories(): string[] {
  if (BESIDE.every((directory) => existsSync(directory))) return BESIDE;
  process.stderr.write(`No real records at ${BESIDE.join(', ')}: testing with those of ${SAMPLE} alone.\n`);
  return [SAMPLE];
}

/** Directories to import one after the other, and to remove with `remove()`. */
export interface RecordDirectories {
  /** Real records, and generated ones that reference some of them. */
  first: string[];
  /** More generated records, for import after partners have their grants; they reference records of `first`. */
  later: string[];
  remove(): void;
}

/** Real and generated records; the same seed gives the same records. */
export function createDirectories(seed: number): RecordDirectories {
  const real = realDirectories();
  const records = readRecords(real.map((path) => ({ path, publishedAt: '' })));
  const some = (ids: Iterable<string>, max: number): string[] => [...ids].slice(0, max);
  const generated = generatedRecords(seed, {
    leadEntities: some(records.leadEntities.keys(), 10),
    coops: some(records.coops.keys(), 2),
    suppliers: some(records.suppliers.keys(), 40),
    cityServices: some(records.cityServices.keys(), 10),
  });
  const folder = mkdtempSync(join(tmpdir(), 'pds-records-'));
  const [first, later] = [join(folder, 'first'), join(folder, 'later')];
  const everyThird = (_: unknown, index: number): boolean => index % 3 === 0;
  const others = (_: unknown, index: number): boolean => index % 3 !== 0;
  const { contracts = [], solicitations = [] } = generated;
  writeRecords(first, {
    ...generated,
    contracts: contracts.filter(others),
    solicitations: solicitations.filter(others),
  });
  writeRecords(later, { contracts: contracts.filter(everyThird), solicitations: solicitations.filter(everyThird) });
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  return { first: [...real, first], later: [later], remove };
}
