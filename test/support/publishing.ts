import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { OpenDatabase } from '../../src/database/database.ts';
import { ImportRefusedError } from '../../src/publishing/problems.ts';
import { publish, type ImportReport, type PublishOptions } from '../../src/publishing/publish.ts';
import { listSources } from '../../src/publishing/read/source.ts';

/** Lines by file name without `.ndjson`: records, or text and bytes to write verbatim. */
export type ImportLines = Record<string, readonly (object | string | Uint8Array)[]>;

/** Runs `work` on a temporary directory with these files, then removes it. */
export async function withImportDirectory<T>(files: ImportLines, work: (directory: string) => Promise<T>): Promise<T> {
  const directory = mkdtempSync(join(tmpdir(), 'pds-import-'));
  try {
    for (const [name, lines] of Object.entries(files)) {
      const bytes = lines.map((line) =>
        line instanceof Uint8Array ? line : Buffer.from(typeof line === 'string' ? line : JSON.stringify(line)),
      );
      writeFileSync(
        join(directory, `${name}.ndjson`),
        Buffer.concat(bytes.flatMap((line) => [line, Buffer.from('\n')])),
      );
    }
    return await work(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Imports these lines as `pds import` would, whatever partners lose by it. */
export function publishLines(
  database: OpenDatabase,
  files: ImportLines,
  options: Partial<PublishOptions> = {},
): Promise<ImportReport> {
  return withImportDirectory(files, async (directory) =>
    publish(database, await listSources(directory), { clock: Date.now, allowLostAccess: true, ...options }),
  );
}

/** Why an import is refused; null if it is published. */
export async function refusalOf(importing: Promise<unknown>): Promise<ImportRefusedError | null> {
  try {
    await importing;
    return null;
  } catch (error) {
    if (error instanceof ImportRefusedError) return error;
    throw error;
  }
}

const SAMPLE = fileURLToPath(new URL('../../sample', import.meta.url));

/** Imports a directory in the import format, by default the sample data. */
export async function publishDirectory(database: OpenDatabase, directory = SAMPLE): Promise<ImportReport> {
  return publish(database, await listSources(directory), { clock: Date.now });
}

/** A small catalog in which every reference between kinds occurs. */
export const SMALL_CATALOG = {
  'lead-entities': [
    { id: 'le_a', name: 'City of A' },
    { id: 'le_b', name: 'City of B' },
  ],
  coops: [{ id: 'co_x', name: 'Coop X' }],
  'city-services': [{ id: 'cs_1', name: 'Paving' }],
  certifications: [
    { abbreviation: 'MBE', name: 'Minority Business Enterprise', type: 'sbe' },
    { abbreviation: 'ISO', name: 'Quality, certified', type: 'technical' },
  ],
  suppliers: [supplier('sup_1'), supplier('sup_2')],
  contracts: [
    contract('ctr_1'),
    { ...contract('ctr_2'), lead_entity_id: 'le_b', coop_id: null, supplier_ids: ['sup_2'] },
  ],
  solicitations: [solicitation('sol_1', 1), { ...solicitation('sol_2', 2), lead_entity_id: 'le_b' }],
} as const;

export function supplier(id: string) {
  return {
    id,
    name: `Supplier ${id}`,
    short_intro: 'Roads and bridges',
    about: null,
    states_served: ['PA', 'OH'],
    certifications: ['MBE', 'ISO'],
    city_service_ids: ['cs_1'],
    location: 'Erie, PA',
    logo: null,
    email: null,
    website: null,
  };
}

export function contract(id: string) {
  return {
    id,
    name: `Contract ${id}`,
    summary: 'Asphalt',
    description: null,
    lead_entity_id: 'le_a',
    coop_id: 'co_x' as string | null,
    supplier_ids: ['sup_1'],
    city_service_ids: ['cs_1'],
  };
}

export function solicitation(id: string, ref: number) {
  return {
    id,
    ref,
    reference_number: `RFP-${ref}`,
    title: `Solicitation ${id}`,
    status: 'open',
    issuing_organization: null,
    lead_entity_id: 'le_a',
    open_at: null,
    close_at: '2030-01-01T00:00:00Z' as string | null,
    questions_due_at: null,
    intent_to_bid_due_at: null,
    description: 'Paving of Main Street',
    require_intent_registration: false,
    created_at: '2026-01-01T00:00:00Z',
    nigp_codes: [{ code: '913', description: 'Construction' }],
    documents: [] as object[],
    requested_items: [] as object[],
    notices: [] as object[],
    questions: [] as object[],
  };
}
