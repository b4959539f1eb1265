import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { pino } from 'pino';
import { afterEach, expect, inject, test } from 'vitest';
import { grant, revoke } from '../../src/access/grant-admin.ts';
import { startServing, type Serving } from '../../src/commands/serve/serving.ts';
import { readConfig } from '../../src/config.ts';
import { createClient, idsOf, listAllPages, type Client } from '../support/client.ts';
import { forEachTest } from '../support/lifetimes.ts';
import { makePartner } from '../support/partners.ts';
import { publishLines } from '../support/publishing.ts';
import { change, COOPS, firstCatalog, leadEntity, LEAD_ENTITIES, PARTNERS } from '../sync/writer-process.ts';
import { Copy, KINDS } from '../sync/copy.ts';
import { FeedCopy } from '../sync/feed-copy.ts';
import { createLosableDatabase } from './losable-database.ts';

const HISTORIES = 5;

/** How far ahead the clock was while the lost changes were made. */
const LOST_CLOCK_SKEW_MS = 30_000;

let serving: Serving;
let client: Client;

const serve = async (): Promise<void> => {
  const config = { ...readConfig({ PDS_PORT: '0' }), database: losable.config };
  serving = await startServing(config, pino({ level: 'silent' }));
  client = createClient(serving.origin);
};
const stop = async (): Promise<void> => {
  client.close();
  await serving.close();
};

const losable = forEachTest(createLosableDatabase);
afterEach(() => stop());

const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ does: fc.constant('publish' as const), lines: change }) },
  {
    weight: 2,
    arbitrary: fc.record({
      does: fc.constantFrom('grant' as const, 'revoke' as const),
      partner: fc.constantFrom(...PARTNERS.slice(1)),
      leadEntities: fc.uniqueArray(leadEntity, { maxLength: 2 }),
      coops: fc.uniqueArray(fc.constantFrom(...COOPS), { maxLength: 1 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('sync' as const), pages: fc.constantFrom(1, 2, Infinity) }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const steps = fc.array(step, { minLength: 4, maxLength: 8 });
const histories = fc.record({ kept: steps, lost: steps, later: steps });

async function run(
  history: readonly Step[],
  copies: readonly Copy[],
  feeds: readonly FeedCopy[],
  skewMs = 0,
): Promise<void> {
  const clock = (): number => Date.now() + skewMs;
  for (const taken of history) {
    if (taken.does === 'sync') {
      for (const copy of copies) await copy.read(taken.pages);
      for (const feed of feeds) {
        for (let page = 0; page === 0 || (page < taken.pages && !feed.isAtStart); page += 1)
          await feed.read(client.get, { limit: 3 });
      }
    } else if (taken.does === 'publish') {
      await losable.use((database) => publishLines(database, taken.lines, { clock }));
    } else {
      const grants = { everything: false, leadEntities: taken.leadEntities, coops: taken.coops };
      if (grants.leadEntities.length + grants.coops.length === 0) continue;
      // Revoking what was not granted fails, which is just another event here.
      await losable.use(async (database) => {
        if (taken.does === 'grant') await grant(database, clock, taken.partner, grants);
        else await revoke(database, clock, taken.partner, grants).catch(() => null);
      });
    }
  }
}

test('a copy that has seen lost changes becomes correct again with its existing watermark and cursors', async () => {
  await losable.use((database) => publishLines(database, firstCatalog()));
  const setups = [
    { name: 'all', everything: true },
    { name: 'some', leadEntities: LEAD_ENTITIES.slice(0, 2) },
    { name: 'few' },
  ];
  const partners = await losable.use(async (database) => {
    const made = [];
    for (const setup of setups) made.push(await makePartner(database, Date.now, setup));
    return made;
  });
  await serve();
  for (const { kept, lost, later } of fc.sample(histories, { numRuns: HISTORIES, seed: 5 })) {
    const copies = partners.flatMap(({ key }) =>
      KINDS.map((kind) => new Copy(kind, key, (path, options) => client.get(path, options), [3])),
    );
    const feeds = partners.map(({ key }) => new FeedCopy(key));
    await run(kept, copies, feeds);
    await losable.backUp();
    await untilItAnswers(partners[0]?.key ?? '');
    await run([...lost, { does: 'sync', pages: 2 }], copies, feeds, LOST_CLOCK_SKEW_MS);
    await lose();
    await untilItAnswers(partners[0]?.key ?? '');
    await run(later, copies, feeds);
    // A restarted server has empty caches.
    await stop();
    await serve();
    for (const [index, feed] of feeds.entries()) {
      // Finishes the listing in progress; a cursor of the lost time can be refused.
      await feed.sync(client.get);
      await feed.sync(client.get);
      const key = partners[index]?.key ?? '';
      const served: string[] = [];
      for (const kind of KINDS) {
        const pages = await listAllPages(client.get, `/v1/${kind}`, key, [100]);
        served.push(...idsOf(...pages).map((id) => `${kind} ${id}`));
      }
      expect([...feed.records.keys()].sort()).toEqual(served.sort());
    }
    for (const copy of copies) {
      // Finishes the listing in progress, then reads a whole one.
      await copy.sync();
      await copy.sync();
      for (const record of await copy.listAll())
        expect(copy.records.get(record.id), `${copy.kind} ${record.id}`).toEqual(record);
    }
  }
}, 240_000);

/** On PostgreSQL the server keeps running with its caches; on SQLite it must be stopped. */
async function lose(): Promise<void> {
  if (inject('engine') === 'sqlite') await stop();
  await losable.lose();
  if (inject('engine') === 'sqlite') await serve();
}

/** Waits until the connections terminated by the copy are re-established. */
async function untilItAnswers(key: string): Promise<void> {
  // Never cached.
  while ((await client.get(`/v1/solicitations/count?q=${randomUUID()}`, { key })).status !== 200) await sleep(50);
}
