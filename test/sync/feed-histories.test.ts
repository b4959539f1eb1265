import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { grant, revoke } from '../../src/access/grant-admin.ts';
import { resumePartner, setPartner, suspendPartner } from '../../src/access/partner-admin.ts';
import { recover } from '../../src/recovery/recover.ts';
import { makePartner, type TestPartner } from '../support/partners.ts';
import { publishLines, SMALL_CATALOG } from '../support/publishing.ts';
import { numberOfRuns } from '../support/runs.ts';
import { serviceForAllTests, type ServingProcess } from '../support/service.ts';
import { FeedCopy, idInCursor } from './feed-copy.ts';
import {
  apply,
  COOPS,
  histories,
  LEAD_ENTITIES,
  PROCESSES,
  startingLines,
  visible,
  type Lines,
  type Scope,
  type Step,
} from './feed-steps.ts';

/*
 * Random histories of imports, grants and requests to several processes that remember different things. The model of what
 * a partner sees is a plain filter over the lines that were imported; it shares nothing with the service.
 */

const DAY_MS = 86_400_000;

let nowMs = Date.parse('2026-06-01T12:00:00.000Z');
const clock = (): number => (nowMs += 10_000);

let processes: readonly ServingProcess[];
let partners = 0;

/** One partner that follows the feed. */
class History {
  readonly #partner: TestPartner;
  readonly #copy: FeedCopy;
  readonly #scope: Scope = {
    everything: false,
    leadEntities: new Set(),
    coops: new Set(),
    kinds: null,
    isSuspended: false,
  };
  /** What it saw after each change, and the watermark from which a listing includes the change. */
  readonly #states: { readonly visible: ReadonlySet<string>; readonly at: string }[] = [];
  /** The listing being read. */
  #removed: string[] = [];
  #since: string | null = null;
  #statesAtStart = 0;
  readonly #lines: Lines;

  constructor(partner: TestPartner, lines: Lines) {
    this.#partner = partner;
    this.#copy = new FeedCopy(partner.key);
    this.#lines = lines;
  }

  async run(steps: readonly Step[]): Promise<void> {
    this.#changed();
    for (const step of steps) await this.#take(step);
    if (this.#scope.isSuspended) await this.#take({ type: 'suspend or resume' });
    if (this.#scope.kinds !== null) await this.#take({ type: 'kinds' });
    for (let index = 0; index < PROCESSES; index += 1) await this.#take({ type: 'notice', process: index });
    const readToEnd = async (): Promise<void> => {
      do await this.#take({ type: 'read', process: 0, limit: 2, format: 'json' });
      while (!this.#copy.isAtStart);
    };
    if (!this.#copy.isAtStart) await readToEnd();
    await readToEnd();
    const expected = visible(this.#lines, this.#scope);
    expect([...this.#copy.records.keys()].sort()).toEqual([...expected].sort());
    for (const [key, record] of this.#copy.records) {
      const { body } = await service.get(`/v1/${key.replace(' ', '/')}`, { key: this.#partner.key });
      expect(record, key).toEqual(JSON.parse(body));
    }
    // With nothing new, nothing is listed.
    const { items, meta } = await this.#copy.read(service.get);
    expect([items, meta?.reset]).toEqual([[], false]);
    this.#copy.lose();
    await this.#copy.read(service.get);
    expect(this.#copy.isDifferent).toBe(expected.size > 0);
  }

  #changed(): void {
    this.#states.push({ visible: visible(this.#lines, this.#scope), at: new Date(nowMs).toISOString() });
  }

  async #take(step: Step): Promise<void> {
    const { database } = service;
    const { name } = this.#partner;
    const scope = this.#scope;
    switch (step.type) {
      case 'import':
        for (const one of step.edits) apply(this.#lines, one);
        await publishAll(this.#lines);
        {
          this.#changed();
          return;
        }
      case 'prune':
        nowMs += 2 * DAY_MS;
        await publishAll(this.#lines, 1);
        {
          this.#changed();
          return;
        }
      case 'recover':
        await recover(database, { clock });
        {
          this.#changed();
          return;
        }
      case 'grant or revoke': {
        const isGranted = step.leadEntities.some((id) => scope.leadEntities.has(id));
        const leadEntities = step.leadEntities.filter((id) => scope.leadEntities.has(id) === isGranted);
        const coops = step.coops.filter((id) => scope.coops.has(id) === isGranted);
        await (isGranted ? revoke : grant)(database, clock, name, { everything: false, leadEntities, coops });
        for (const id of leadEntities) if (isGranted) scope.leadEntities.delete(id); else scope.leadEntities.add(id); // prettier-ignore
        for (const id of coops) if (isGranted) scope.coops.delete(id); else scope.coops.add(id); // prettier-ignore
        this.#changed();
        return;
      }
      case 'grant or revoke everything':
        await (scope.everything ? revoke : grant)(database, clock, name, {
          everything: true,
          leadEntities: [],
          coops: [],
        });
        scope.everything = !scope.everything;
        {
          this.#changed();
          return;
        }
      case 'kinds':
        scope.kinds = scope.kinds === null ? ['contracts', 'suppliers', 'coops'] : null;
        await setPartner(database, clock, name, { kinds: scope.kinds });
        {
          this.#changed();
          return;
        }
      case 'suspend or resume':
        scope.isSuspended = !scope.isSuspended;
        await (scope.isSuspended ? suspendPartner : resumePartner)(database, clock, name);
        {
          this.#changed();
          return;
        }
      case 'notice':
        return processes[step.process]?.noticeChanges();
      case 'read':
        return this.#read(step);
    }
  }

  async #read({ process: index, limit, format }: Extract<Step, { type: 'read' }>): Promise<void> {
    if (this.#copy.isAtStart) {
      this.#removed = [];
      this.#since = this.#copy.watermark;
      this.#statesAtStart = this.#states.length;
    }
    const options = { format, ...(limit !== undefined && { limit }) };
    const { status, items, meta } = await this.#copy.read(processes[index]?.get ?? expect.fail(), options);
    if (meta === null) {
      expect([400, 403]).toContain(status);
      return;
    }
    this.#removed.push(...items.filter(({ removed }) => removed === true).map(({ kind, id }) => `${kind} ${id}`));
    // Nothing is told of that the partner did not see since its watermark, nor is it in a cursor.
    const from = this.#since;
    const first = this.#states.findLastIndex(({ at }) => from !== null && at < from);
    const seen = new Set(this.#states.slice(Math.max(0, first)).flatMap((state) => [...state.visible]));
    for (const key of this.#removed) expect(seen, `${key} was visible since ${String(from)}`).toContain(key);
    if (meta.next_cursor === null) {
      if (meta.reset) expect(this.#removed).toEqual([]);
      const hasChanged = this.#states.length > this.#statesAtStart;
      expect(meta.totals).toEqual(hasChanged ? null : numbersOf(visible(this.#lines, this.#scope), this.#scope));
      return;
    }
    const id = idInCursor(meta.next_cursor);
    if (id !== null) expect(Array.from(seen, (key) => key.split(' ')[1])).toContain(id);
  }
}

/** The number of visible records of each kind that a partner can read. */
function numbersOf(records: ReadonlySet<string>, { kinds }: Scope): Record<string, number> {
  const readable = (['contracts', 'solicitations', 'suppliers'] as const).filter(
    (kind) => kinds?.includes(kind) ?? true,
  );
  return Object.fromEntries(
    readable.map((kind) => [kind, [...records].filter((record) => record.startsWith(`${kind} `)).length]),
  );
}

const SHARED = {
  'lead-entities': LEAD_ENTITIES.map((id) => ({ id, name: id })),
  coops: COOPS.map((id) => ({ id, name: id })),
  'city-services': SMALL_CATALOG['city-services'],
  certifications: SMALL_CATALOG.certifications,
};

async function publishAll(lines: Lines, removalsDays?: number): Promise<void> {
  const files = Object.fromEntries(
    Object.entries(lines).map(([kind, map]) => [kind, [...(map as Map<string, object>).values()]]),
  );
  const days = removalsDays === undefined ? {} : { removalsDays };
  // A coop that no record names, so that something is published in any case.
  const coops = [...SHARED.coops, { id: 'co_last', name: String(nowMs) }];
  await publishLines(
    service.database,
    { ...SHARED, coops, ...files },
    { clock, replace: true, allowRemovals: true, blockSize: 4, ...days },
  );
}

const service = serviceForAllTests({ clock, isPolling: false, blockSize: 4, partners: [{ name: 'first' }] });
beforeAll(async () => {
  const others = Array.from({ length: PROCESSES - 1 }, () => service.startOther());
  processes = [service, ...(await Promise.all(others))];
});

test('a copy that follows the feed has exactly what is visible, and its numbers; no removal is one that it could not know', async () => {
  await fc.assert(
    fc.asyncProperty(histories, async (steps) => {
      const lines = startingLines();
      await publishAll(lines);
      const partner = await makePartner(service.database, clock, { name: `p${(partners += 1)}` });
      await new History(partner, lines).run(steps);
    }),
    { numRuns: numberOfRuns({ usually: 15, nightly: 60 }), endOnFailure: true },
  );
}, 180_000);
