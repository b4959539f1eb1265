import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { grant } from '../../src/access/grant-admin.ts';
import { startService, type TestService } from '../support/service.ts';
import { withImportDirectory } from '../support/publishing.ts';
import { firstCatalog, LEAD_ENTITIES, PARTNERS, type WriterOrders } from './writer-process.ts';

const KINDS = ['contracts', 'suppliers', 'solicitations'] as const;
const EPOCH = '1970-01-01T00:00:00.000Z';
const ROUNDS = 60;

type Kind = (typeof KINDS)[number];
type Served = Record<string, unknown> & { id: string };

let service: TestService;

beforeAll(async () => {
  service = await withImportDirectory(firstCatalog(), (directory) =>
    startService({
      directories: [directory],
      clock: Date.now,
      partners: [
        { name: 'all', everything: true },
        { name: 'some', leadEntities: LEAD_ENTITIES.slice(0, 2) },
        { name: 'few' },
      ],
    }),
  );
});
afterAll(() => service.close());

/** A partner's copy of one kind, kept in step as the guide says. */
class Copy {
  readonly records = new Map<string, Served>();
  readonly #kind: Kind;
  readonly #key: string;
  #since = EPOCH;

  constructor(kind: Kind, key: string) {
    this.#kind = kind;
    this.#key = key;
  }

  /** One incremental walk; returns how many records it received. */
  async sync(): Promise<number> {
    const since = encodeURIComponent(this.#since);
    const pages = await service.walk(`/v1/${this.#kind}?updated_since=${since}`, this.#key, [3, 7, 1, 100]);
    const watermarks = new Set(pages.map(({ headers }) => headers['x-sync-watermark']));
    // One watermark through the whole walk.
    expect([...watermarks]).toHaveLength(1);
    let received = 0;
    for (const { body, status } of pages) {
      expect(status).toBe(200);
      for (const record of (JSON.parse(body) as { data: Served[] }).data) {
        this.records.set(record.id, record);
        received += 1;
      }
    }
    this.#since = String([...watermarks][0]);
    return received;
  }
}

async function fullWalk(kind: Kind, key: string): Promise<Served[]> {
  const pages = await service.walk(`/v1/${kind}`, key, [100]);
  return pages.flatMap(({ body }) => (JSON.parse(body) as { data: Served[] }).data);
}

function startWriter(orders: Omit<WriterOrders, 'database'>): Promise<number> {
  const argument = JSON.stringify({ ...orders, database: service.databaseConfig });
  const child = spawn(process.execPath, [new URL('writer-process.ts', import.meta.url).pathname, argument], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return once(child, 'exit').then(([code]) => code as number);
}

test('a sync loses nothing that changed or became visible, with importers and grants at work at the same time', async () => {
  const writing = new AbortController();
  const writers = Promise.all([
    startWriter({ role: 'importer', seed: 1, rounds: ROUNDS, clockSkewMs: 0 }),
    startWriter({ role: 'importer', seed: 2, rounds: ROUNDS, clockSkewMs: 4_000 }),
    startWriter({ role: 'granter', seed: 3, rounds: 2 * ROUNDS, clockSkewMs: 4_000 }),
  ]).finally(() => writing.abort());

  const copies = PARTNERS.flatMap((name) =>
    KINDS.map((kind) => ({ name, kind, copy: new Copy(kind, service.partner(name).key) })),
  );
  let walks = 0;
  while (!writing.signal.aborted) {
    for (const { copy } of copies) await copy.sync();
    walks += copies.length;
  }
  expect(await writers).toEqual([0, 0, 0]);
  // Syncs and writes did overlap.
  expect(walks).toBeGreaterThan(5 * copies.length);

  await service.noticeChanges();
  for (const { name, kind, copy } of copies) {
    await copy.sync();
    const served = await fullWalk(kind, service.partner(name).key);
    for (const record of served) expect(copy.records.get(record.id), `${name}: ${record.id}`).toEqual(record);
    // With nothing new, nothing is received.
    expect(await copy.sync()).toBe(0);
  }
}, 120_000);

test('a record that becomes visible by a grant is received once, however old it is', async () => {
  const copy = new Copy('suppliers', service.partner('few').key);
  await copy.sync();
  await grant(service.database, Date.now, 'few', { everything: true, leadEntities: [], coops: [] });
  await service.noticeChanges();
  await copy.sync();
  expect(copy.records.size).toBe((await fullWalk('suppliers', service.partner('all').key)).length);
  expect(await copy.sync()).toBe(0);
});
