import { beforeEach, describe, expect, test } from 'vitest';
import { grant, revoke } from '../../src/access/grant-admin.ts';
import { deletePartner, setPartner, suspendPartner } from '../../src/access/partner-admin.ts';
import { hooked } from '../support/hooked.ts';
import { contract, publishLines, SMALL_CATALOG, supplier } from '../support/publishing.ts';
import { serviceForEachTest } from '../support/service.ts';
import { Copy, KINDS } from './copy.ts';

/** A contract visible only through a grant of the coop. */
const OF_COOP = { ...contract('ctr_coop'), lead_entity_id: 'le_c', coop_id: 'co_y', supplier_ids: ['sup_coop'] };
const CATALOG = {
  ...SMALL_CATALOG,
  'lead-entities': [...SMALL_CATALOG['lead-entities'], { id: 'le_c', name: 'City of C' }],
  coops: [...SMALL_CATALOG.coops, { id: 'co_y', name: 'Coop Y' }],
  suppliers: [...SMALL_CATALOG.suppliers, supplier('sup_coop')],
  contracts: [...SMALL_CATALOG.contracts, OF_COOP],
};

let nowMs = Date.parse('2026-06-01T12:00:00.000Z');
const clock = (): number => (nowMs += 1_000);

/** A request that meets changes for ten seconds gives up. */
const RELOADS_PER_SYNC = 4;

const coop = { everything: false, leadEntities: [], coops: ['co_y'] };
const leadEntity = { everything: false, leadEntities: ['le_b'], coops: [] };
const CHANGES = {
  grant: () => grant(service.database, clock, 'a', coop),
  revoke: () => revoke(service.database, clock, 'a', coop),
  publish: () =>
    publishLines(service.database, { contracts: [{ ...contract('ctr_1'), name: `Contract ${refreshes}` }] }, { clock }),
  suspend: () => suspendPartner(service.database, clock, 'a'),
  delete: () => deletePartner(service.database, clock, 'a'),
  'allow other kinds': () => setPartner(service.database, clock, 'a', { kinds: ['suppliers'] }),
};
type Change = keyof typeof CHANGES;

/** The changes that happen, in turn, before or after a statement that brings a newer scope. */
let changes: readonly (readonly Change[])[];
let moment: 'before' | 'after';
let refreshes: number;
/** The number of reloads that are still followed by changes. */
let left: number;
beforeEach(() => {
  moment = 'after';
  refreshes = 0;
  left = 0;
});

const service = serviceForEachTest({
  catalog: CATALOG,
  clock,
  partners: [{ name: 'a', leadEntities: ['le_a'] }],
  // Otherwise it could notice a change before the request under test.
  isPolling: false,
  watch: (database) =>
    hooked(database, {
      before: (statementKey) => (moment === 'before' && statementKey === 'head with scope' ? change() : undefined),
      after: (rows) => (moment === 'after' && rows.some(bringsScope) ? change() : undefined),
    }),
});

async function change(): Promise<void> {
  if (left === 0) return;
  left -= 1;
  for (const each of changes[refreshes % changes.length] ?? []) await CHANGES[each]();
  refreshes += 1;
}

/** Whether the server takes a newer scope from a row before it reads again. */
const bringsScope = (row: unknown): boolean => Object.hasOwn(row as object, 'scope_text');

describe.each(['before', 'after'] as const)('a change of grants %s reading the scope again', (given) => {
  beforeEach(() => {
    moment = given;
  });

  test.each<Change[][]>([
    [['grant'], ['revoke']],
    [['grant', 'publish'], ['revoke']],
    [
      ['publish', 'grant'],
      ['publish', 'revoke'],
    ],
    [
      ['publish', 'grant', 'publish'],
      ['revoke', 'publish'],
    ],
    [['publish'], ['publish', 'grant'], ['revoke']],
  ])('fails no request, and a sync misses nothing: %j, then %j, and so on', async (...given) => {
    changes = given;
    const { key } = service.partner('a');
    const copies = KINDS.map((kind) => new Copy(kind, key, service.get));
    let turn = 0;
    const rounds = 4;
    for (let round = 0; round < rounds; round += 1) {
      for (const copy of copies) {
        await service.noticeChanges();
        await copy.sync();
        // From here on, the scope that the service has just read is stale.
        await [grant, revoke][turn++ % 2]?.(service.database, clock, 'a', leadEntity);
        const before = refreshes;
        left = RELOADS_PER_SYNC;
        await copy.sync();
        expect(refreshes).toBeGreaterThan(before);
        left = 0;
        await service.noticeChanges();
        await copy.sync();
        for (const record of await copy.listAll()) expect(copy.records.get(record.id)).toEqual(record);
        expect(await copy.sync()).toBe(0);
      }
    }
  });
});

describe('before reading the scope again', () => {
  beforeEach(() => {
    moment = 'before';
  });

  test.each([
    ['suspend', 403],
    ['delete', 401],
    ['allow other kinds', 403],
  ] as const)('to %s refuses the request that is being answered', async (change, status) => {
    changes = [[change]];
    const { key } = service.partner('a');
    expect((await service.get('/v1/suppliers', { key })).status).toBe(200);
    await grant(service.database, clock, 'a', leadEntity);
    left = 1;
    expect((await service.get('/v1/contracts', { key })).status).toBe(status);
    expect(refreshes).toBe(1);
  });
});

describe('a change of grants between reading the scope and reading its page', () => {
  test('is visible in the next response to the same request', async () => {
    changes = [['grant']];
    const { key } = service.partner('a');
    const list = () => service.get('/v1/contracts', { key });
    // Another request, so that the one under test is not cached.
    await service.get('/v1/suppliers', { key });
    await grant(service.database, clock, 'a', leadEntity);
    left = 1;
    expect((await list()).body).not.toContain('ctr_coop');
    expect(refreshes).toBe(1);
    await service.noticeChanges();
    expect((await list()).body).toContain('ctr_coop');
  });
});
