import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql, type Kysely } from 'kysely';
import { writeMarket } from '../../bench/dataset/market.ts';
import type { OpenDatabase } from '../../src/database/database.ts';
import type { Tables } from '../../src/database/tables.ts';
import { publish } from '../../src/publishing/publish.ts';
import { listSources } from '../../src/publishing/read/source.ts';

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
    const releases = some.map((id) => ({ number: id, instant: timestampOf(id), token: '' }));
    await kysely.insertInto('catalog.publications').values(releases).execute();
    // Their ids equal `some`: the table was empty.
    const partners = some.map((id) => ({
      name: `partner-${id}`,
      created_at: timestampOf(id),
      grants_changed_at: timestampOf(id),
      narrowed_at: timestampOf(id),
      narrowed_by: 'creation' as const,
    }));
    await kysely.insertInto('access.partners').values(partners).execute();
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
    const changes = some.map((id) => ({ partner_id: id, instant: timestampOf(id) }));
    const departures = some.map((id) => ({
      kind: 'contracts' as const,
      id: `ctr-${id}`,
      owner: 'everything',
      release: id,
    }));
    await kysely.insertInto('catalog.departures').values(departures).execute();
    await kysely.insertInto('access.grant_changes').values(changes).execute();
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
