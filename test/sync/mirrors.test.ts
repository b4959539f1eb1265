import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  LISTS,
  readCopy,
  STORES,
  storeOptions,
  type Json,
  type Records,
  type StoreType,
} from '../../client/test/mirror/support/copies.ts';
import { firstCatalog, history, type Step } from '../../client/test/mirror/support/histories.ts';
import { MirroredService } from '../../client/test/mirror/support/mirrored-service.ts';
import type { ImportLines } from '../support/publishing.ts';
import { numberOfRuns } from '../support/runs.ts';

/** Set MIRROR_RUNS for more. */
const RUNS = Number(process.env['MIRROR_RUNS'] ?? numberOfRuns({ inDefaultSet: 1, otherwise: 3 }));

let service: MirroredService;
let copies = 0;

beforeAll(async () => {
  const partner = { name: 'acme', leadEntities: ['le_0'], coops: ['co_0'] };
  service = await MirroredService.start(firstCatalog(), partner, { isKillable: true });
});
afterAll(() => service.close());

const imports = { taken: 0, refused: 0 };
async function publish(lines: ImportLines): Promise<void> {
  imports[(await service.tryToPublish(lines)) ? 'taken' : 'refused'] += 1;
}

/** Runs a mirror, with `during` happening meanwhile. Returns whether it completed undisturbed. */
async function run(options: readonly string[], { isReconciling, during }: Extract<Step, { type: 'sync' }>) {
  const mirror = service.startMirror(...options, ...(isReconciling ? ['--reconcile'] : []));
  const happened: Promise<void>[] = [];
  const act = async (): Promise<void> => {
    const event = during?.event;
    if (event?.type === 'kill-mirror') mirror.kill('SIGKILL');
    else if (event?.type === 'import') await publish(event.lines);
    else {
      await service.killService();
      await service.serve();
    }
  };
  service.pages.disturb(during && { ...during, act: () => happened.push(act()) });
  const { code, stderr } = await mirror.ended;
  await Promise.all(happened);
  service.pages.disturb(null);
  const isKilled = happened.length > 0 && during?.event.type === 'kill-mirror';
  if (!isKilled) expect(code, stderr).toBe(0);
  return happened.length === 0;
}

const UNSEEN = ['notices', 'documents', 'questions'];
const without = (record: Json | undefined, fields: readonly string[]): Json =>
  Object.fromEntries(Object.entries(record ?? {}).filter(([name]) => !fields.includes(name)));

/** Asserts that the copy has every served record as served, and every detail that is open or has changed. */
function expectAllServed(copy: Records, before: Records, served: Records): void {
  for (const list of LISTS)
    for (const [id, record] of served[list]) expect(copy[list].get(id), `${list}: ${id}`).toEqual(record);
  for (const [id, detail] of served.details) {
    const stored = copy.details.get(id);
    const hasChanged = before.solicitations.get(id)?.['updated_at'] !== detail['updated_at'];
    if (detail['is_open'] === true || hasChanged) expect(stored, `detail: ${id}`).toEqual(detail);
    // In other details, only fields that no list shows can be older.
    else expect(without(stored, UNSEEN), `detail: ${id}`).toEqual(without(detail, UNSEEN));
  }
}

async function play(type: StoreType, steps: readonly Step[]): Promise<void> {
  copies += 1;
  const folder = join(service.folder, `${type}-${copies}`);
  mkdirSync(folder);
  const options = storeOptions(type, folder);
  let before = readCopy(type, folder);
  for (const step of [
    ...steps,
    { type: 'sync', isReconciling: false, during: null } as const,
    { type: 'sync', isReconciling: true, during: null } as const,
  ]) {
    if (step.type === 'import') await publish(step.lines);
    else if (step.type !== 'sync') await service.change(step.type, step.grants);
    else {
      await service.settle();
      if (!(await run(options, step))) continue;
      const [copy, served] = [readCopy(type, folder), await service.served()];
      expectAllServed(copy, before, served);
      if (step.isReconciling)
        for (const list of [...LISTS, 'details'] as const)
          expect([...copy[list].keys()].sort(), list).toEqual([...served[list].keys()].sort());
      before = copy;
    }
  }
}

describe.each(STORES)('a copy in %s', (type) => {
  test(
    'holds every served record after a sync, and nothing else after a reconciling sync, whatever happened before',
    () =>
      fc.assert(
        fc.asyncProperty(history, (steps) => play(type, steps)),
        { numRuns: RUNS, endOnFailure: true },
      ),
    60_000 + RUNS * 60_000,
  );
});
