import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql, type Kysely } from 'kysely';
import { writeMarket } from '../../bench/dataset/market.ts';
import type { OpenDatabase } from '../../src/database/database.ts';
import type { Tables } from '../../src/database/tables.ts';
import { publish } from '../../src/publishing/publish.ts';
import { listSources } from '../../src/publishing/read/source.ts';
import { addMilliseconds } from '../../src/timestamp.ts';

/** Large enough that PostgreSQL prefers an index wherever one helps, small enough for a test. */
const SIZE = {
  ...{ solicitations: 2_000, contracts: 2_000, suppliers: 2_000, leadEntities: 300, coops: 300, cityServices: 300 },
  largestContractShare: 0.5,
};

/** The number of partners, and of the rows that each has one of: releases, keys and so on. */
const COUNT = 2_000;

const GRANTS_EACH = 5;

/** Rows per insert statement. */
const BATCH = 500;

/** Fills a migrated database of PostgreSQL with records and partners, always the same ones, and analyzes it. */
export async function fillDatabase(database: OpenDatabase): Promise<void> {
  await insertPartners(database.kysely);
  const folder = mkdtempSync(join(tmpdir(), 'pds-queries-'));
  try {
    writeMarket(folder, SIZE);
    await publish(database, await listSources(folder), { clock: Date.now });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  await sql`vacuum (analyze)`.execute(database.kysely);
}

async function insertPartners(kysely: Kysely<Tables>): Promise<void> {
  const ids = Array.from({ length: COUNT }, (_, index) => index + 1);
  const timestampOf = (id: number): string => new Date(Date.UTC(2026, 0, 1, 0, id)).toISOString();
  for (let start = 0; start < COUNT; start += BATCH) {
    const some = ids.slice(start, start + BATCH);
    const releases = some.map((id) => ({ number: id, at: timestampOf(id) }));
    await kysely.insertInto('catalog.releases').values(releases).execute();
    // Their ids equal `some`: the table was empty.
    const partners = some.map((id) => ({
      name: `partner-${id}`,
      created_at: timestampOf(id),
    }));
    await kysely.insertInto('access.partners').values(partners).execute();
    const events = some.flatMap((id) => {
      const event = (ms: number) => ({ at: addMilliseconds(timestampOf(id), ms), token: String(id), release: id });
      return [
        { ...event(0), what: 'release' as const, partner_id: null, narrows: null },
        { ...event(2), what: 'scope' as const, partner_id: id, narrows: 'creation' as const },
        { ...event(4), what: 'key' as const, partner_id: id, narrows: null },
      ];
    });
    await kysely.insertInto('access.events').values(events).execute();
    const keys = some.map((id) => ({
      id: `key-${id}`,
      partner_id: id,
      digest: String(id),
      environment: 'live' as const,
      created_at: timestampOf(id),
    }));
    await kysely.insertInto('access.keys').values(keys).execute();
    const grants = some.flatMap((id) =>
      Array.from({ length: GRANTS_EACH }, (_, index) => ({
        partner_id: id,
        kind: 'lead_entity' as const,
        resource_id: `le-${index}`,
        granted_at: timestampOf(id),
      })),
    );
    await kysely.insertInto('access.grants').values(grants).execute();
    const departures = some.map((id) => ({
      kind: 'contracts' as const,
      id: `ctr-${id}`,
      owner: 'everything',
      release: id,
    }));
    await kysely.insertInto('catalog.departures').values(departures).execute();
    const usage = some.map((id) => ({
      day: timestampOf(id).slice(0, 10),
      partner_id: id,
      key_id: `key-${id}`,
      endpoint: '/v1/contracts',
      requests: 1,
      records: 1,
      limited: 0,
      failed: 0,
    }));
    await kysely.insertInto('access.usage').values(usage).execute();
  }
}
