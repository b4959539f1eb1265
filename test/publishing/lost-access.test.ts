import { beforeEach, expect, test } from 'vitest';
import { ConsentRequiredError } from '../../src/publishing/consent.ts';
import { INDEXED_KINDS } from '../../src/kinds.ts';
import { needsConsent, type Loss } from '../../src/publishing/losses.ts';
import type { PublishOptions } from '../../src/publishing/publish.ts';
import { callPds } from '../commands/call-pds.ts';
import { databaseForEachTest } from '../support/database.ts';
import { makePartner, readScope, type PartnerSetup } from '../support/partners.ts';
import { OWNED_PARTNERS, ownedCatalogs, visibleIn } from '../support/records/owned-catalogs.ts';
import { numberOfRuns } from '../support/runs.ts';
import {
  contract,
  publishLines,
  SMALL_CATALOG,
  solicitation,
  withImportDirectory,
  type ImportLines,
} from '../support/publishing.ts';

const made = databaseForEachTest();
beforeEach(() => publishLines(made.database, SMALL_CATALOG));

const partner = (setup: PartnerSetup) => makePartner(made.database, Date.now, setup);

/** The department `le_b`, renamed where ids are made from names. */
const RENAMED: ImportLines = {
  ...SMALL_CATALOG,
  'lead-entities': [SMALL_CATALOG['lead-entities'][0], { id: 'le_bb', name: 'Town of B' }],
  contracts: [SMALL_CATALOG.contracts[0], { ...SMALL_CATALOG.contracts[1], lead_entity_id: 'le_bb' }],
  solicitations: [SMALL_CATALOG.solicitations[0], { ...solicitation('sol_2', 2), lead_entity_id: 'le_bb' }],
};

/** The losses of partners that an import of these files needs consent to, as a preview reports them. */
async function lostBy(files: ImportLines, options: Partial<PublishOptions> = {}) {
  const preview = { dryRun: true, allowLostAccess: false, allowRemovals: true };
  return askedAbout((await publishLines(made.database, files, { ...preview, ...options })).losses);
}

type Asked = Pick<Loss, 'partner' | 'leadEntities' | 'coops' | 'seesNothing'>;

/** The losses that an import asks about, without their numbers, by partner. */
function askedAbout(losses: readonly Loss[]): Asked[] {
  return losses
    .filter(needsConsent)
    .map(({ partner: name, leadEntities, coops, seesNothing }) => ({ partner: name, leadEntities, coops, seesNothing }))
    .sort((one, other) => (one.partner < other.partner ? -1 : 1));
}

const lost = (name: string, what: Partial<Asked>): Asked => {
  return { partner: name, leadEntities: [], coops: [], seesNothing: false, ...what };
};

test('an import that removes a granted lead entity is refused, names its partners, and previews the same', async () => {
  await partner({ name: 'acme', leadEntities: ['le_b'] });
  await partner({ name: 'bolt', leadEntities: ['le_a', 'le_b'] });
  await partner({ name: 'core', leadEntities: ['le_a'] });
  await partner({ name: 'dune', everything: true });
  const expected = [
    lost('acme', { leadEntities: ['le_b'], seesNothing: true }),
    lost('bolt', { leadEntities: ['le_b'] }),
  ];
  const options = { replace: true, allowRemovals: true, allowLostAccess: false };
  const refused = await publishLines(made.database, RENAMED, options).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(ConsentRequiredError);
  const { removals, lostAccess } = (refused as ConsentRequiredError).consequences;
  expect([removals, askedAbout(lostAccess)]).toEqual([[], expected]);
  expect((refused as Error).message.split('\n')).toEqual([
    'partner acme: the import removes lead entity "le_b", granted to it; it sees no contract, solicitation or supplier ' +
      'any more. To allow this, add --yes',
    'partner bolt: the import removes lead entity "le_b", granted to it. To allow this, add --yes',
  ]);
  const ids = () => made.database.kysely.selectFrom('catalog.lead_entities').select('id').orderBy('id').execute();
  expect(await ids()).toEqual([{ id: 'le_a' }, { id: 'le_b' }]);

  const preview = await publishLines(made.database, RENAMED, { ...options, dryRun: true });
  expect(askedAbout(preview.losses)).toEqual(expected);
  expect(preview.notes).toEqual(['2 partners lose access. The import asks for confirmation, or needs --yes']);

  const done = await publishLines(made.database, RENAMED, { ...options, allowLostAccess: true });
  expect(done).toMatchObject({ timestamp: expect.any(String) as string, losses: preview.losses, notes: [] });
  expect(await ids()).toEqual([{ id: 'le_a' }, { id: 'le_bb' }]);
  // The next import does not ask about earlier losses.
  expect(await lostBy({ coops: [{ id: 'co_x', name: 'Renamed' }] })).toEqual([]);
});

test('an import that moves the last record that a partner sees, or makes it a draft, is refused', async () => {
  await partner({ name: 'acme', leadEntities: ['le_b'] });
  await partner({ name: 'bolt', leadEntities: ['le_b'], kinds: ['contracts', 'certifications'] });
  await partner({ name: 'core', leadEntities: ['le_b'], kinds: ['certifications'] });
  await partner({ name: 'dune', leadEntities: ['le_b'], coops: ['co_x'] });
  const contracts = [{ ...SMALL_CATALOG.contracts[1], lead_entity_id: 'le_a' }];
  expect(await lostBy({ contracts })).toEqual([lost('bolt', { seesNothing: true })]);
  const solicitations = [{ ...SMALL_CATALOG.solicitations[1], status: 'draft' }];
  const blinded = [lost('acme', { seesNothing: true }), lost('bolt', { seesNothing: true })];
  expect(await lostBy({ contracts, solicitations })).toEqual(blinded);
  await expect(publishLines(made.database, { contracts, solicitations }, { allowLostAccess: false })).rejects.toThrow(
    ConsentRequiredError,
  );
});

test('a coop counts by its contracts, which give no solicitations', async () => {
  await partner({ name: 'acme', coops: ['co_x'] });
  await partner({ name: 'bolt', coops: ['co_x'], kinds: ['solicitations'] });
  const contracts = [{ ...contract('ctr_1'), coop_id: null }];
  expect(await lostBy({ contracts })).toEqual([lost('acme', { seesNothing: true })]);
  expect(await lostBy({ contracts, coops: [{ id: 'co_x', deleted: true }] })).toEqual([
    lost('acme', { coops: ['co_x'], seesNothing: true }),
    lost('bolt', { coops: ['co_x'] }),
  ]);
});

test('one refusal names large removals and partners, also if other records refer to what would be removed', async () => {
  await partner({ name: 'acme', leadEntities: ['le_b'] });
  // As a file that was cut short.
  const cut = { 'lead-entities': [SMALL_CATALOG['lead-entities'][0]], contracts: [SMALL_CATALOG.contracts[0]] };
  const refused = publishLines(made.database, cut, { replace: true, allowLostAccess: false });
  await expect(refused).rejects.toMatchObject({
    consequences: {
      removals: [{ kind: 'lead-entities' }, { kind: 'contracts' }],
      lostAccess: [lost('acme', { leadEntities: ['le_b'] })],
    },
  });
});

test('pds diff and pds import name the partners, as text and as JSON, and --yes allows it', async () => {
  await partner({ name: 'acme', leadEntities: ['le_b'] });
  const warning = 'warning: partner acme: the import removes lead entity "le_b", granted to it; it sees no contract, ';
  const all = { before: 1, lost: 1, gained: 0 };
  const records = { suppliers: all, contracts: all, solicitations: all };
  const lost_access = [
    { partner: 'acme', lead_entities: ['le_b'], coops: [], before: 3, kept: 0, sees_nothing: true, records },
  ];
  await withImportDirectory(RENAMED, async (directory) => {
    const run = (command: 'diff' | 'import', ...options: string[]) =>
      callPds([command, directory, '--replace', ...options], made.settings);
    const { stderr: previewed } = await run('diff');
    expect(previewed).toContain(warning);
    expect(previewed).toContain('\n1 partner loses access. The import asks for confirmation, or needs --yes\n');
    expect(previewed).toMatch(
      /\nSUPPLIERS +CONTRACTS +SOLICITATIONS +PARTNER THAT LOSES RECORDS\n-1 \+0 of 1 +-1 \+0 of 1 +-1 \+0 of 1 +acme\nNothing was written\.\n$/,
    );
    expect(JSON.parse((await run('diff', '--json')).stdout)).toMatchObject({ lost_access, losses: lost_access });

    const asked = expect.stringMatching(/^partner acme: .* add --yes$/m) as string;
    expect(await run('import')).toMatchObject({ code: 1, stderr: asked });
    expect(JSON.parse((await run('import', '--yes', '--json')).stdout)).toMatchObject({ lost_access, notes: [] });
  });
});

test('an import lists a partner that loses records, and asks if it would keep less than a fifth of them', async () => {
  await partner({ name: 'acme', leadEntities: ['le_b'] });
  await partner({ name: 'bolt', everything: true });
  // With a solicitation, a contract and its supplier, acme then sees ten records.
  const more = Array.from({ length: 7 }, (_, index) => {
    return { ...contract(`ctr_${index + 3}`), lead_entity_id: 'le_b', coop_id: null, supplier_ids: [] };
  });
  await publishLines(made.database, { contracts: more });
  const moved = more.map((each) => ({ ...each, lead_entity_id: 'le_a' }));
  const { losses } = await publishLines(made.database, { contracts: moved }, { dryRun: true });
  expect(losses).toMatchObject([{ partner: 'acme', before: 10, kept: 3 }]);
  expect(askedAbout(losses)).toEqual([]);
  const withSolicitation = { contracts: moved, solicitations: [{ id: 'sol_2', deleted: true }] };
  expect(await lostBy(withSolicitation)).toEqual([]);
  const contracts = [...moved, { ...SMALL_CATALOG.contracts[1], supplier_ids: [] }];
  const refused = publishLines(made.database, { ...withSolicitation, contracts }, { allowLostAccess: false });
  await expect(refused).rejects.toThrow('partner acme: it keeps 1 of the 10 records that it sees. To allow this');
});

test('what each partner loses and gains is the difference of what it sees before and after, by the model', async () => {
  const [first, ...others] = ownedCatalogs(numberOfRuns({ usually: 8, nightly: 40 }));
  if (first === undefined) throw new Error('no catalog was made');
  const whole = { replace: true, allowRemovals: true };
  await publishLines(made.database, first, whole);
  for (const setup of OWNED_PARTNERS) await partner(setup);
  let before = first;
  let compared = 0;
  for (const after of others) {
    const expected: Pick<Loss, 'partner' | 'records'>[] = [];
    for (const { name, kinds = INDEXED_KINDS } of OWNED_PARTNERS) {
      const scope = await readScope(made.database, name);
      const [saw, sees] = [visibleIn(before, scope), visibleIn(after, scope)];
      const records = INDEXED_KINDS.filter((kind) => kinds.includes(kind)).map((kind) => {
        const [old, present] = [new Set(saw[kind].keys()), new Set(sees[kind].keys())];
        const [lostIds, gainedIds] = [old.difference(present), present.difference(old)];
        return [kind, { before: old.size, lost: lostIds.size, gained: gainedIds.size }] as const;
      });
      if (records.some(([, counts]) => counts.lost > 0))
        expected.push({ partner: name, records: Object.fromEntries(records) });
    }
    for (const dryRun of [true, false]) {
      const { losses } = await publishLines(made.database, after, { ...whole, dryRun });
      const found = losses.map(({ partner: name, records }) => ({ partner: name, records }));
      expect(found.sort((one, other) => (one.partner < other.partner ? -1 : 1))).toEqual(expected);
    }
    compared += expected.length;
    before = after;
  }
  expect(compared).toBeGreaterThan(10);
});
