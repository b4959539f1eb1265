import { gzipSync } from 'node:zlib';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openForCommands } from '../../src/database/open.ts';
import { createPartner } from '../../src/access/partner-admin.ts';
import type { SolicitationRow } from '../../src/database/tables.ts';
import { publish, type ImportReport } from '../../src/publishing/publish.ts';
import { listSources } from '../../src/publishing/read/source.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { newFolder } from '../support/new-folder.ts';
import {
  contract,
  publishLines,
  SMALL_CATALOG,
  solicitation,
  supplier,
  type ImportLines,
} from '../support/publishing.ts';

let made: TestDatabase;
let nowMs: number;

beforeEach(async () => {
  made = await createTestDatabase();
  nowMs = Date.parse('2026-06-01T12:00:00.000Z');
  await importLines(SMALL_CATALOG);
});
afterEach(() => made.drop());

function importLines(
  files: ImportLines,
  options: { replace?: boolean; allowRemovals?: boolean; dryRun?: boolean } = {},
) {
  nowMs += 60_000;
  return publishLines(made.database, files, { clock: () => nowMs, ...options });
}

/** The stored row of a record, with the timestamps of its releases. */
async function rowOf(kind: 'suppliers' | 'contracts' | 'solicitations', id: string) {
  const { kysely } = made.database;
  const releases = await kysely.selectFrom('catalog.releases').selectAll().execute();
  const timestamps = new Map(releases.map(({ number, at }) => [number, at]));
  const row = await kysely.selectFrom(`catalog.${kind}`).selectAll().where('id', '=', id).executeTakeFirstOrThrow();
  const { updated_release: updated = row.changed_release } = row as Partial<SolicitationRow>;
  return {
    document: JSON.parse(`${row.document}}`) as Record<string, unknown>,
    changedAt: timestamps.get(row.changed_release),
    updatedAt: row.updated_at ?? timestamps.get(updated),
  };
}

function removed(report: ImportReport): Record<string, number> {
  return Object.fromEntries(Object.entries(report.kinds).map(([kind, counts]) => [kind, counts.removed]));
}

describe('release', () => {
  test('publishes nothing if nothing changed', async () => {
    const report = await importLines(SMALL_CATALOG);
    expect(report.timestamp).toBeNull();
    expect(report.kinds.contracts).toEqual({ added: 0, changed: 0, unchanged: 2, removed: 0 });
    expect(await made.database.kysely.selectFrom('catalog.releases').selectAll().execute()).toHaveLength(1);
  });

  test('writes nothing on a dry run, and counts the changes', async () => {
    const report = await importLines({ coops: [{ id: 'co_y', name: 'Y' }] }, { dryRun: true });
    expect(report).toMatchObject({ timestamp: null, kinds: { coops: { added: 1 } } });
    expect(await made.database.kysely.selectFrom('catalog.coops').selectAll().execute()).toHaveLength(1);
  });

  test('uses increasing timestamps with room for a watermark between them, even if the clock steps back', async () => {
    const first = await importLines({ coops: [{ id: 'co_y', name: 'Y' }] });
    nowMs -= 86_400_000;
    const second = await importLines({ coops: [{ id: 'co_y', name: 'Z' }] });
    await createPartner(made.database, () => 0, 'acme', { everything: true });
    const partner = made.database.kysely.selectFrom('access.partners').select('everything_since');
    const granted = (await partner.executeTakeFirstOrThrow()).everything_since;
    const third = await importLines({ coops: [{ id: 'co_y', name: 'W' }] });
    const series = [first.timestamp, second.timestamp, granted, third.timestamp].map((timestamp) =>
      Date.parse(timestamp ?? ''),
    );
    expect(series.slice(1).map((timestamp, index) => timestamp - (series[index] ?? 0))).toEqual([2, 2, 2]);
  });

  test('reads gzip, a byte order mark, CRLF, empty lines and a last line without a line end', async () => {
    const directory = newFolder();
    const text = '\uFEFF{"id":"co_1","name":"É"}\r\n\r\n{"id":"co_2","name":"ﬁ"}';
    writeFileSync(join(directory, 'coops.ndjson.gz'), gzipSync(text));
    const report = await publish(made.database, await listSources(directory), { clock: () => nowMs });
    expect(report.kinds.coops).toMatchObject({ added: 2 });
  });

  test('waits for an import in progress, and reports that', async () => {
    const other = openForCommands(made.config);
    let release: () => void = () => undefined;
    const isWaiting = new Promise<void>((resolve) => (release = resolve));
    const first = publish(
      made.database,
      [
        {
          kind: 'coops',
          name: 'slow',
          size: 0,
          open: async function* () {
            yield Buffer.from('{"id":"co_slow","name":"Slow"}\n');
            await isWaiting;
          },
        },
      ],
      { clock: () => nowMs },
    );
    const second = publishLines(other, { coops: [{ id: 'co_slow', name: 'Later' }] }, { onWaiting: release });
    expect((await first).kinds.coops).toMatchObject({ added: 1 });
    expect((await second).kinds.coops).toMatchObject({ changed: 1 });
    await other.close();
  });

  test('notes locations without a state', async () => {
    const report = await importLines({ suppliers: [{ ...supplier('sup_3'), location: 'somewhere in Ohio' }] });
    expect(report.notes).toEqual([expect.stringMatching(/^locations .*: 1$/)]);
  });
});

describe('updated_at', () => {
  const notice = { id: 1, title: 'Addendum', body: '', created_at: '2026-01-01T00:00:00Z' };
  const withNotice = { ...solicitation('sol_1', 1), notices: [notice] };

  test('is the imported value in the first import of a kind, unless that is later than the release', async () => {
    await made.drop();
    made = await createTestDatabase();
    const imported = { ...solicitation('sol_1', 1), updated_at: '2020-05-05T00:00:00+02:00' };
    const future = { ...solicitation('sol_2', 2), updated_at: '2040-01-01T00:00:00Z' };
    const { timestamp } = await importLines({
      'lead-entities': SMALL_CATALOG['lead-entities'],
      solicitations: [imported, future, solicitation('sol_3', 3)],
    });
    expect((await rowOf('solicitations', 'sol_1')).updatedAt).toBe('2020-05-04T22:00:00.000Z');
    expect((await rowOf('solicitations', 'sol_2')).updatedAt).toBe(timestamp);
    expect((await rowOf('solicitations', 'sol_3')).updatedAt).toBe(timestamp);
    expect((await rowOf('solicitations', 'sol_1')).changedAt).toBe(timestamp);
  });

  test('is the release, not the imported value, for a record that is added later or changes', async () => {
    const { timestamp } = await importLines({
      solicitations: [
        { ...solicitation('sol_1', 1), title: 'Changed', updated_at: '2020-01-01T00:00:00Z' },
        { ...solicitation('sol_3', 3), updated_at: '2020-01-01T00:00:00Z' },
      ],
    });
    expect((await rowOf('solicitations', 'sol_1')).updatedAt).toBe(timestamp);
    expect((await rowOf('solicitations', 'sol_3')).updatedAt).toBe(timestamp);
  });

  test('of a solicitation is unchanged by new notices, documents and questions, and so is the order of a sync', async () => {
    const before = await rowOf('solicitations', 'sol_1');
    const report = await importLines({ solicitations: [withNotice] });
    expect(report.kinds.solicitations).toMatchObject({ changed: 1 });
    expect(await rowOf('solicitations', 'sol_1')).toEqual(before);
  });

  test('of a solicitation changes with its requested items and NIGP codes', async () => {
    const { timestamp } = await importLines({
      solicitations: [{ ...solicitation('sol_1', 1), nigp_codes: [] }],
    });
    expect((await rowOf('solicitations', 'sol_1')).updatedAt).toBe(timestamp);
  });

  test('of a solicitation is unchanged when its lead entity is renamed, while a sync includes it', async () => {
    const before = await rowOf('solicitations', 'sol_1');
    const { timestamp, rerendered } = await importLines({ 'lead-entities': [{ id: 'le_a', name: 'Town of A' }] });
    const after = await rowOf('solicitations', 'sol_1');
    expect(after).toMatchObject({ updatedAt: before.updatedAt, changedAt: timestamp });
    expect(after.document['lead_entity']).toEqual({ id: 'le_a', name: 'Town of A' });
    // sol_1 and ctr_1 belong to le_a.
    expect(rerendered).toBe(2);
  });

  test('of a solicitation is unchanged, while a sync includes it, if one import renames its lead entity and adds a notice', async () => {
    const before = await rowOf('solicitations', 'sol_1');
    const { timestamp } = await importLines({
      'lead-entities': [{ id: 'le_a', name: 'Town of A' }],
      solicitations: [withNotice],
    });
    expect(await rowOf('solicitations', 'sol_1')).toMatchObject({ updatedAt: before.updatedAt, changedAt: timestamp });
  });

  test.each([
    ['its lead entity', { 'lead-entities': [{ id: 'le_a', name: 'Town of A' }] }],
    ['its coop', { coops: [{ id: 'co_x', name: 'X, renamed' }] }],
    ['a city service', { 'city-services': [{ id: 'cs_1', name: 'Paving, renamed' }] }],
    ['a supplier', { suppliers: [{ ...supplier('sup_1'), email: 'a@example.com' }] }],
  ])('of a contract changes with %s that it embeds', async (_case, files: ImportLines) => {
    const untouched = await rowOf('contracts', 'ctr_2');
    const { timestamp } = await importLines(files);
    const touched = await rowOf('contracts', 'ctr_1');
    expect(touched).toMatchObject({ updatedAt: timestamp, changedAt: timestamp });
    expect(JSON.stringify(touched.document)).toMatch(/Town of A|renamed|a@example.com/);
    // ctr_2 references another lead entity, no coop and another supplier, but the same city service.
    if (!('city-services' in files)) expect(await rowOf('contracts', 'ctr_2')).toEqual(untouched);
  });

  test('of a supplier is unchanged by text that is only searched, and changes with the order of its certifications', async () => {
    const before = await rowOf('suppliers', 'sup_1');
    await importLines({ suppliers: [{ ...supplier('sup_1'), about: 'Tunnels' }] });
    expect(await rowOf('suppliers', 'sup_1')).toEqual(before);
    const { timestamp } = await importLines({
      certifications: [{ abbreviation: 'MBE', name: 'Minority Business Enterprise', type: 'technical' }],
    });
    expect((await rowOf('suppliers', 'sup_1')).updatedAt).toBe(timestamp);
  });
});

describe('removal', () => {
  test('removes a record together with the records that reference it, in one import', async () => {
    const report = await importLines({
      'lead-entities': [{ id: 'le_b', deleted: true }],
      contracts: [{ id: 'ctr_2', deleted: true }],
      solicitations: [{ id: 'sol_2', deleted: true }],
    });
    expect(removed(report)).toEqual({ 'lead-entities': 1, contracts: 1, solicitations: 1 });
    const left = await made.database.kysely.selectFrom('catalog.supplier_lead_entities').selectAll().execute();
    expect(left.map(({ lead_entity_id, supplier_id }) => [lead_entity_id, supplier_id])).toEqual([['le_a', 'sup_1']]);
  });

  test('notes the removal of an unknown record, and changes nothing', async () => {
    const report = await importLines({ coops: [{ id: 'co_none', deleted: true }] });
    expect(report).toMatchObject({
      timestamp: null,
      notes: ['coops.ndjson:1: co_none does not exist, so it was not removed'],
    });
  });

  test('with "replace", removes what is missing from a file, more than a fifth only if that is allowed, and no other kind', async () => {
    const cut = { contracts: [contract('ctr_1')] };
    await expect(importLines(cut, { replace: true })).rejects.toThrow(/is missing 1 of the 2 contracts.*add --yes$/);
    expect(removed(await importLines(cut, { replace: true, allowRemovals: true }))).toEqual({ contracts: 1 });
    const contracts = Array.from({ length: 10 }, (_, index) => contract(`ctr_${index}`));
    await importLines({ contracts });
    const withoutFifth = importLines({ contracts: contracts.slice(2) }, { replace: true });
    await expect(withoutFifth.then(removed)).resolves.toEqual({ contracts: 2 });
  });

  test('with "replace", does not count added records against removed ones', async () => {
    const others = Array.from({ length: 20 }, (_, i) => ({ ...contract(`ctr_n${i}`), supplier_ids: [] }));
    await expect(importLines({ contracts: others }, { replace: true })).rejects.toThrow(
      /is missing 2 of the 2 contracts/,
    );
  });

  test('with "replace", refuses to remove records that are still referenced', async () => {
    await expect(
      importLines({ 'lead-entities': [{ id: 'le_a', name: 'City of A' }] }, { replace: true, allowRemovals: true }),
    ).rejects.toThrow(/le_b cannot be removed: (contract ctr_2|solicitation sol_2) refers to it/);
  });

  test('names only the records that stay referenced, not those that a removable record refers to', async () => {
    await importLines({
      'city-services': [{ id: 'cs_free', name: 'Free' }],
      suppliers: [{ ...supplier('sup_free'), city_service_ids: ['cs_free'] }],
    });
    const removal = importLines({
      suppliers: ['sup_1', 'sup_free'].map((id) => ({ id, deleted: true })),
      'city-services': [{ id: 'cs_free', deleted: true }],
    });
    await expect(removal).rejects.toThrow(/sup_1 cannot be removed/);
    await expect(removal).rejects.not.toThrow(/(cs|sup)_free cannot be removed/);
  });

  test('allows two solicitations to swap their refs in one import', async () => {
    const { timestamp } = await importLines({
      solicitations: [solicitation('sol_1', 2), { ...solicitation('sol_2', 1), lead_entity_id: 'le_b' }],
    });
    expect(timestamp).not.toBeNull();
  });
});
