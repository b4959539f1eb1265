import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { grant, revoke } from '../../src/access/grant-admin.ts';
import type { DatabaseConfig } from '../../src/config.ts';
import { openForCommands } from '../../src/database/open.ts';
import { OperatorError } from '../../src/operator-error.ts';
import { contract, publishLines, solicitation, supplier, type ImportLines } from '../support/publishing.ts';

/**
 * A clock with even milliseconds only. Release timestamps are then even and watermarks odd, so that no client's clock
 * equals a watermark by chance, which the service would treat as that watermark.
 */
export function evenClock(): number {
  const nowMs = Date.now();
  return nowMs - (nowMs % 2);
}

/** The task of a writer, as JSON in its first argument. */
interface WriterTask {
  database: DatabaseConfig;
  role: 'importer' | 'granter';
  seed: number;
  rounds: number;
  /** Simulates clocks that differ between machines, and step back. */
  clockSkewMs: number;
}

export const LEAD_ENTITIES = ['le_0', 'le_1', 'le_2', 'le_3'];
export const COOPS = ['co_0', 'co_1'];
export const PARTNERS = ['all', 'some', 'few'];

const SUPPLIERS = Array.from({ length: 12 }, (_, i) => `sup_${i}`);
const CONTRACTS = Array.from({ length: 20 }, (_, i) => `ctr_${i}`);
const SOLICITATIONS = Array.from({ length: 30 }, (_, i) => i);

const text = fc.constantFrom('alpha', 'beta', 'gamma', 'delta', 'epsilon');
export const leadEntity = fc.constantFrom(...LEAD_ENTITIES);

const named = (ids: readonly string[]) => fc.tuple(fc.constantFrom(...ids), text).map(([id, name]) => ({ id, name }));
const someSolicitation = fc
  .record({ number: fc.constantFrom(...SOLICITATIONS), title: text, lead_entity_id: leadEntity, isDraft: fc.boolean() })
  .map(({ number, isDraft, ...fields }) => ({
    ...solicitation(`sol_${number}`, number + 1),
    ...fields,
    status: isDraft ? 'draft' : 'open',
  }));
const someContract = fc
  .record({
    id: fc.constantFrom(...CONTRACTS),
    name: text,
    lead_entity_id: leadEntity,
    coop_id: fc.constantFrom(null, ...COOPS),
    supplier_ids: fc.uniqueArray(fc.constantFrom(...SUPPLIERS), { maxLength: 3 }),
  })
  .map((fields) => ({ ...contract(fields.id), ...fields, city_service_ids: [] }));
const someSupplier = fc
  .record({ id: fc.constantFrom(...SUPPLIERS), name: text })
  .map((fields) => ({ ...supplier(fields.id), ...fields, certifications: [], city_service_ids: [] }));

const few = <T extends { id: string }>(record: fc.Arbitrary<T>) =>
  fc.uniqueArray(record, { maxLength: 4, selector: ({ id }) => id });
export const change: fc.Arbitrary<ImportLines> = fc.oneof(
  fc.record({ solicitations: few(someSolicitation) }),
  fc.record({ contracts: few(someContract) }),
  fc.record({ suppliers: few(someSupplier) }),
  fc.record({ 'lead-entities': few(named(LEAD_ENTITIES)), coops: few(named(COOPS)) }),
  fc.record({ suppliers: few(someSupplier), contracts: few(someContract), solicitations: few(someSolicitation) }),
);

/** The initial catalog: every record that a change can reference. */
export function firstCatalog(): ImportLines {
  return {
    'lead-entities': LEAD_ENTITIES.map((id) => ({ id, name: id })),
    coops: COOPS.map((id) => ({ id, name: id })),
    suppliers: SUPPLIERS.map((id) => ({ ...supplier(id), certifications: [], city_service_ids: [] })),
  };
}

/** A writer that runs until it has finished its rounds, or is stopped. */
interface Writer {
  stop(): void;
  /** Its exit code. */
  exited: Promise<number>;
}

export function startWriter(task: WriterTask): Writer {
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url), JSON.stringify(task)], {
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  return { stop: () => child.stdin.end(), exited: once(child, 'exit').then(([code]) => code as number) };
}

async function write({ database: config, role, seed, rounds, clockSkewMs }: WriterTask): Promise<void> {
  const database = openForCommands(config);
  const clock = (): number => evenClock() + Math.round(clockSkewMs * Math.sin(Date.now() / 50));
  const stopping = new AbortController();
  process.stdin.on('end', () => stopping.abort()).resume();
  if (role === 'importer') {
    for (const lines of fc.sample(change, { numRuns: rounds, seed })) {
      if (stopping.signal.aborted) break;
      await publishLines(database, lines, { clock });
    }
  } else {
    const step = fc.record({
      isGrant: fc.boolean(),
      partner: fc.constantFrom(...PARTNERS.slice(1)),
      leadEntities: fc.uniqueArray(leadEntity, { maxLength: 2 }),
      coops: fc.uniqueArray(fc.constantFrom(...COOPS), { maxLength: 1 }),
    });
    for (const { isGrant, partner, leadEntities, coops } of fc.sample(step, { numRuns: rounds, seed })) {
      if (stopping.signal.aborted) break;
      if (leadEntities.length + coops.length === 0) continue;
      const grants = { everything: false, leadEntities, coops };
      // Revoking what was not granted fails, as it should, and is just another event here.
      if (isGrant) await grant(database, clock, partner, grants);
      else
        await revoke(database, clock, partner, grants).catch((error: unknown) => {
          if (!(error instanceof OperatorError)) throw error;
        });
    }
  }
  await database.close();
  process.stdin.destroy();
}

const task = process.argv[2];
if (task !== undefined && import.meta.main) await write(JSON.parse(task) as WriterTask);
