import fc from 'fast-check';
import { sql } from 'kysely';
import { beforeAll, expect, test } from 'vitest';
import { grant, revoke, type Grants } from '../../src/access/grant-admin.ts';
import { issueKey } from '../../src/access/key-admin.ts';
import {
  createPartner,
  deletePartner,
  resumePartner,
  setPartner,
  suspendPartner,
} from '../../src/access/partner-admin.ts';
import { readCompleteListings } from '../../src/access/scope.ts';
import { inTransaction } from '../../src/database/database.ts';
import { lockLog } from '../../src/database/event-log.ts';
import { isLost } from '../../src/database/revision.ts';
import { insertRows } from '../../src/database/rows.ts';
import type { EventRow } from '../../src/database/tables.ts';
import { readFeedState } from '../../src/paging/changes.ts';
import { readSince } from '../../src/paging/since.ts';
import { recover, reindex } from '../../src/recovery/recover.ts';
import { listKeptReleases, rollback } from '../../src/recovery/rollback.ts';
import { addMilliseconds, DAY_MS, EPOCH, formatTimestamp } from '../../src/timestamp.ts';
import { databaseForAllTests } from '../support/database.ts';
import { publishLines, SMALL_CATALOG } from '../support/publishing.ts';
import { takeSnapshot } from '../support/snapshots.ts';
import { changeStored } from '../support/stored-catalog.ts';
import { numberOfRuns } from '../support/runs.ts';
import * as rules from './log-rules.ts';

/* The statements of the service and the plain rules agree about every log that random changes leave behind. */

const PARTNERS = ['p', 'q'] as const;
const LEEWAY_MS = 5_000;

let nowMs = Date.parse('2026-06-01T12:00:00.000Z');
const clock = (): number => (nowMs += 10_000);
let published = 0;
/** Every event that was ever in the log. */
const seen = new Map<string, rules.LogEvent>();

const made = databaseForAllTests();
beforeAll(async () => {
  await publishLines(made.database, SMALL_CATALOG, { clock });
  for (const name of PARTNERS) await createPartner(made.database, clock, name, { everything: false });
});

const name = fc.constantFrom(...PARTNERS);
const type = <const T extends string>(...types: T[]) => ({ type: fc.constantFrom(...types) });
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ ...type('publish'), days: fc.constantFrom(null, 0, 1) }) },
  { weight: 4, arbitrary: fc.record({ ...type('grant or revoke', 'everything', 'kinds', 'limit', 'key', 'suspend'), name }) },
  { weight: 1, arbitrary: fc.record({ ...type('recreate'), name }) },
  { weight: 1, arbitrary: fc.record(type('recover', 'reindex', 'wait')) },
  { weight: 2, arbitrary: fc.record({ ...type('roll back'), nth: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ ...type('lose'), count: fc.integer({ min: 1, max: 4 }), isClockBack: fc.boolean() }) },
); // prettier-ignore
const histories = fc.array(step, { minLength: 10, maxLength: 40 });
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

const KEPT_CATALOGS = 3;

type StoredEvent = rules.LogEvent & Pick<EventRow, 'file'>;

/** SQLite deletes no event of a catalog that it keeps, nor those after it. */
function keptSince(log: readonly StoredEvent[]): string[] {
  const last = new Map(log.flatMap(({ file, at }) => (file === null ? [] : [[file, at] as const])));
  const [oldest] = [...last.values()].sort().slice(-KEPT_CATALOGS);
  return oldest === undefined ? [] : [addMilliseconds(oldest, 1)];
}

async function readLog(): Promise<StoredEvent[]> {
  return made.database.kysely.selectFrom('access.events').selectAll().orderBy('at').execute();
}

async function take(given: Step): Promise<void> {
  const operator = { name: 'alice@desk', auditRetentionDays: 1_000, keepReleases: KEPT_CATALOGS };
  const database = { ...made.database, operator };
  const { kysely } = database;
  switch (given.type) {
    case 'publish': {
      const before = await readLog();
      const days = given.days === null ? {} : { removalsDays: given.days };
      const oldest =
        [formatTimestamp(nowMs + 10_000 - (given.days ?? 0) * DAY_MS), ...keptSince(before)].sort()[0] ?? '';
      await publishLines(database, { coops: [{ id: 'co_x', name: `Coop ${(published += 1)}` }] }, { clock, ...days });
      if (given.days !== null) expect((await readLog()).slice(0, -1)).toEqual(rules.pruned(before, oldest));
      return;
    }
    case 'grant or revoke':
    case 'everything': {
      const partner = await kysely.selectFrom('access.partners').selectAll().where('name', '=', given.name).executeTakeFirstOrThrow(); // prettier-ignore
      const granted = await kysely
        .selectFrom('access.grants')
        .selectAll()
        .where('partner_id', '=', partner.id)
        .execute();
      const isEverything = given.type === 'everything';
      const isGranted = isEverything ? partner.everything_since !== null : granted.length > 0;
      const grants: Grants = { everything: isEverything, leadEntities: isEverything ? [] : ['le_a'], coops: [] };
      await (isGranted ? revoke : grant)(database, clock, given.name, grants);
      return;
    }
    case 'kinds':
      return setPartner(database, clock, given.name, { kinds: nowMs % 3 === 0 ? null : ['contracts', 'coops'] });
    case 'limit':
      return setPartner(database, clock, given.name, { requestsPerMinute: 1 + (nowMs % 1_000) });
    case 'key':
      await issueKey(database, clock, given.name, { environment: 'test', lifetimeMs: null });
      return;
    case 'suspend':
      if (!(await suspendPartner(database, clock, given.name))) await resumePartner(database, clock, given.name);
      return;
    case 'recreate':
      await deletePartner(database, clock, given.name);
      return createPartner(database, clock, given.name, { everything: true });
    case 'recover':
      await recover(database, { clock });
      return;
    case 'roll back': {
      const [current, ...others] = await listKeptReleases(database, Number.MAX_SAFE_INTEGER);
      const targets = others.filter(({ isKept, file }) => isKept && file !== current?.file);
      const target = targets[given.nth % targets.length];
      if (target !== undefined) await rollback(database, { clock, release: target.release });
      return;
    }
    case 'reindex':
      await reindex(database, { clock });
      return;
    case 'wait':
      nowMs += 2 * DAY_MS;
      return;
    case 'lose': {
      // Changes of partners stay, which the log does not depend on.
      const state = states.at(-given.count);
      const created = (events: readonly rules.LogEvent[]) =>
        events.filter(({ narrows }) => narrows === 'creation').length;
      if (state === undefined || created(state.events) < created(await readLog())) return;
      await changeStored(database, async (stored) => {
        await sql`delete from catalog.releases`.execute(stored.kysely);
        await insertRows(stored, 'catalog.releases', state.releases);
      });
      const file = database.catalogFiles?.attachCurrent() ?? null;
      await inTransaction(database, async (transaction) => {
        await lockLog(transaction, clock);
        await sql`delete from access.events`.execute(transaction.kysely);
        const events = state.events.map((event) => (event.partner_id === null ? { ...event, file } : event));
        await insertRows(transaction, 'access.events', events);
      });
      if (given.isClockBack) nowMs = Date.parse(state.events.at(-1)?.at ?? EPOCH);
      return;
    }
  }
}

/** The log and the releases before each step. */
const states: { readonly events: rules.LogEvent[]; readonly releases: { number: number; at: string }[] }[] = [];

async function save(): Promise<void> {
  const releases = await made.database.kysely.selectFrom('catalog.releases').selectAll().execute();
  states.push({ events: await readLog(), releases });
}

async function compare(): Promise<void> {
  const { database } = made;
  const log = await readLog();
  for (const [index, event] of log.entries()) {
    seen.set(`${event.at} ${event.token}`, event);
    const before = log[index - 1];
    if (before === undefined) continue;
    expect(event.at >= addMilliseconds(before.at, 2)).toBe(true);
    if (event.partner_id !== null) expect(event.release).toBeGreaterThanOrEqual(before.release);
    else expect(event.release).toBeGreaterThan(before.release);
  }
  const times = new Set([...seen.values()].slice(-40).map(({ at }) => at));
  const partners = await database.kysely
    .selectFrom('access.partners')
    .select('id')
    .where('deleted_at', 'is', null)
    .execute();
  for (const { id } of partners) {
    const snapshot = await takeSnapshot(database, id);
    expect(snapshot.watermark).toBe(rules.watermarkOf(log, id));
    const { upTo } = await readCompleteListings(database, id);
    expect(upTo).toBe(rules.completeUpTo(log, id));
    for (const at of times) {
      const since = addMilliseconds(at, 1);
      const listing = { updatedSince: since, watermark: null, isComplete: null };
      const { complete } = await readFeedState(snapshot, listing);
      expect(complete, `complete since ${since}`).toBe(rules.whyComplete(log, id, since));
      const read = await readSince(snapshot, since, null);
      const isKnown = rules.isKnown(log, id, since);
      if (isKnown && since > upTo) expect(complete, `complete since ${since}, after ${upTo}`).toBeNull();
      expect(read?.isWatermark).toBe(isKnown);
      // The first page of a listing with an earlier watermark did not know it.
      const before = addMilliseconds(since, -1);
      if (isKnown) expect((await readSince(snapshot, since, before))?.isWatermark).toBe(false);
      const from = isKnown ? since : addMilliseconds(since, -LEEWAY_MS);
      expect(read?.from).toBe(from);
      if (rules.listsEverything(log, from)) expect(read?.release).toBe(1);
    }
  }
  for (const [name_, event] of [...seen].slice(-40)) {
    expect(await isLost(database.kysely, name_), name_).toBe(rules.isLost(log, event));
  }
}

test('the statements agree with the rules about watermarks, complete listings, lost events and what is deleted', async () => {
  await fc.assert(
    fc.asyncProperty(histories, async (steps) => {
      for (const given of steps) {
        await save();
        await take(given);
        await compare();
      }
    }),
    { numRuns: numberOfRuns({ usually: 3, nightly: 20 }), endOnFailure: true },
  );
}, 180_000);
