import { describe, expect, test } from 'vitest';
import { parseKey } from '../../src/access/keys.ts';
import { createEmptyDatabase, databaseForEachTest } from '../support/database.ts';
import { callPds } from './call-pds.ts';
import { runPds } from './run-pds.ts';
import { publishLines, SMALL_CATALOG } from '../support/publishing.ts';

const made = databaseForEachTest();

/** Runs a command on the test's database. */
const pds = (line: string, settings = {}, run = callPds) => run(line.split(' '), { ...made.settings, ...settings });

/** The value that a command prints with `--json`. */
async function pdsJson(line: string, settings?: Record<string, string>): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await pds(`${line} --json`, settings);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout) as Record<string, unknown>;
}

describe('pds partner', () => {
  test('creates, grants to, shows, limits, suspends and revokes from a partner', async () => {
    await publishLines(made.database, SMALL_CATALOG);
    expect(await pds('partner create acme')).toMatchObject({ code: 0, stdout: '' });
    expect(await pds('partner grant acme --lead-entity le_a --lead-entity le_b --coop co_x')).toMatchObject({
      code: 0,
    });
    expect(await pdsJson('partner grant acme --everything --coop co_x')).toMatchObject({
      granted: { everything: true, lead_entities: [], coops: [] },
      unchanged: { everything: false, lead_entities: [], coops: ['co_x'] },
    });
    expect(await pdsJson('partner revoke acme --lead-entity le_b --everything')).toMatchObject({
      revoked: { everything: true, lead_entities: ['le_b'], coops: [] },
      partner: { everything_since: null, lead_entity_count: 1, coop_count: 1 },
    });
    expect((await pds('partner set acme --per-minute 30 --kinds coops,contracts')).stderr).toContain(
      '30 requests per minute',
    );
    expect((await pds('partner suspend acme')).code).toBe(0);
    expect(await pdsJson('partner show acme')).toMatchObject({
      name: 'acme',
      suspended_at: expect.stringMatching(/Z$/) as string,
      requests_per_minute: 30,
      kinds: ['contracts', 'coops'],
      grants: {
        lead_entities: [{ id: 'le_a', name: 'City of A', granted_at: expect.stringMatching(/Z$/) as string }],
        coops: [{ id: 'co_x', gives: { suppliers: 1, contracts: 1, solicitations: 0 } }],
      },
      keys: [],
    });
    expect(await pdsJson('partner resume acme')).toMatchObject({ changed: true, partner: { suspended_at: null } });
    expect((await pds('partner set acme --per-minute default --kinds all')).code).toBe(0);
    const { stdout } = await pds('partner show acme');
    expect(stdout).toMatch(/^per minute +600 \(default\)$/m);
    expect(stdout).toMatch(/^le_a +\S+Z +suppliers 1, contracts 1, solicitations 1 +City of A$/m);
    expect((await pds('partner list')).stdout).toMatch(/^acme +active +0 +default +\S+ +1 lead entity, 1 coop +all$/m);
  });

  test('marks grants that give nothing, also because of the kinds of the partner', async () => {
    await publishLines(made.database, {
      ...SMALL_CATALOG,
      coops: [
        { id: 'co_x', name: 'X' },
        { id: 'co_y', name: 'Y' },
      ],
    });
    await pds('partner create acme');
    await pds('partner grant acme --lead-entity le_b --coop co_x --coop co_y');
    await pds('partner set acme --kinds solicitations');
    await publishLines(made.database, { coops: [{ id: 'co_y', deleted: true }] });
    const { stdout } = await pds('partner show acme');
    expect(stdout).toMatch(/^le_b +\S+Z +solicitations 1 +City of B$/m);
    expect(stdout).toMatch(/^co_x +\S+Z +nothing +X\nco_y +\S+Z +nothing +\(no longer in the catalog\)$/m);
  });
});

describe('pds key', () => {
  test('prints a new key once, alone on stdout', async () => {
    await pds('partner create acme --everything');
    const { stdout, stderr } = await pds('key issue acme --expires-in 365d');
    const key = stdout.trimEnd();
    expect(stdout).toBe(`${key}\n`);
    expect(parseKey(key)?.environment).toBe('test');
    expect(stderr).toContain(key.slice(9, 17));
    for (const line of ['key list', 'key list acme --json', 'partner show acme', 'partner show acme --json']) {
      const output = await pds(line);
      expect(output.stdout).toContain(key.slice(9, 17));
      expect(output.stdout + output.stderr + stderr).not.toContain(key.slice(18));
    }
  });

  test('warns if the partner sees nothing yet', async () => {
    await pds('partner create acme');
    const warning = 'warning: acme sees no records yet. Grant it some with: pds partner grant acme --lead-entity ID';
    const { code, stdout, stderr } = await pds('key issue acme');
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining(warning) as string });
    expect(parseKey(stdout.trim())).not.toBeNull();
    await pds('partner grant acme --everything');
    expect((await pds('key issue acme')).stderr).not.toContain(warning);
  });

  test('issues live keys in production only', async () => {
    await pds('partner create acme');
    const issued = await pdsJson('key issue acme', { PDS_ENVIRONMENT: 'production' });
    expect(parseKey(issued['key'] as string)).toEqual({ id: issued['id'], environment: 'live' });
    expect((await pdsJson('key issue acme', { PDS_ENVIRONMENT: 'uat' }))['environment']).toBe('test');
  });

  test('rotates and revokes keys by their public id', async () => {
    await pds('partner create acme');
    const old = await pdsJson('key issue acme');
    const rotated = await pds(`key rotate ${String(old['id'])} --overlap 30m`);
    expect(parseKey(rotated.stdout.trimEnd())).not.toBeNull();
    expect(rotated.stderr).toContain(`It replaces ${String(old['id'])}`);
    expect(await pdsJson(`key revoke ${String(old['id'])}`)).toMatchObject({
      changed: true,
      key: { state: 'revoked' },
    });
    expect(await pdsJson(`key revoke ${String(old['id'])}`)).toMatchObject({ changed: false });
    const { keys } = (await pdsJson('key list')) as { keys: { state: string }[] };
    expect(keys.map(({ state }) => state).toSorted()).toEqual(['active', 'revoked']);
  });
});

test('pds roles reports that SQLite has no roles', async () => {
  const { code, stdout, stderr } = await pds('roles');
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain('"pds roles" requires PostgreSQL');
});

test('the first command on an empty database migrates it, also if several commands run at once', async () => {
  await using empty = await createEmptyDatabase();
  const names = Array.from({ length: 5 }, (_, i) => `partner-${i}`);
  const create = (name: string) => pds(`partner create ${name} --everything`, empty.settings, runPds);
  const outcomes = await Promise.all(names.map(create));
  expect(outcomes.map(({ code, stderr }) => (code === 0 ? 0 : stderr))).toEqual(names.map(() => 0));
  const listed = await pdsJson('partner list', empty.settings);
  const { partners } = listed as { partners: { name: string; everything_since: string }[] };
  expect(partners.map(({ name }) => name)).toEqual(names);
  // Each with a distinct timestamp.
  expect(new Set(partners.map((partner) => partner.everything_since)).size).toBe(names.length);
});
