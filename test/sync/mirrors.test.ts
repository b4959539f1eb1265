import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { startPythonMirror } from '../../client/test/python/python-process.ts';
import { readCopy, STORES, storeOptions } from '../../client/test/mirror/support/copies.ts';
import { firstCatalog, history, type Step } from '../../client/test/mirror/support/histories.ts';
import type { MirrorProcess } from '../../client/test/mirror/support/mirror-process.ts';
import { MirroredService } from '../../client/test/mirror/support/mirrored-service.ts';
import { isInstalled } from '../support/installed-programs.ts';
import { forAllTests } from '../support/lifetimes.ts';
import type { ImportLines } from '../support/publishing.ts';
import { numberOfRuns } from '../support/runs.ts';

/** Set MIRROR_RUNS for more. */
const RUNS = Number(process.env['MIRROR_RUNS'] ?? numberOfRuns({ usually: 1, nightly: 3 }));

/** The copies of the client's mirror, and those of `partner_data.py`. */
const MIRRORS = [...STORES, 'python'] as const;

const partner = { name: 'acme', leadEntities: ['le_0'], coops: ['co_0'] };
const service = forAllTests(() => MirroredService.start(firstCatalog(), partner, { isKillable: true }));
let copies = 0;

const imports = { taken: 0, refused: 0 };
async function publish(lines: ImportLines): Promise<void> {
  imports[(await service.tryToPublish(lines)) ? 'taken' : 'refused'] += 1;
}

type MirrorType = (typeof MIRRORS)[number];

const optionsOf = (type: MirrorType, folder: string) => storeOptions(type === 'python' ? 'sqlite' : type, folder);
const readCopyOf = (type: MirrorType, folder: string) => readCopy(type === 'python' ? 'sqlite' : type, folder);

function makeFolder(type: MirrorType): string {
  const folder = join(service.folder, `${type}-${(copies += 1)}`);
  mkdirSync(folder);
  return folder;
}

/** Starts a mirror in a process of its own. */
function start(type: MirrorType, folder: string): MirrorProcess {
  const options = optionsOf(type, folder);
  if (type !== 'python') return service.startMirror(...options);
  return startPythonMirror(options[1] ?? '', service.environment);
}

/** Runs a mirror, with `during` happening meanwhile. Returns whether it was killed. */
async function run(
  type: MirrorType,
  folder: string,
  during: Extract<Step, { type: 'sync' }>['during'],
): Promise<boolean> {
  // Only a process can be killed, and Python is none of this one.
  const killable = type === 'python' || during?.event.type === 'kill-mirror' ? start(type, folder) : null;
  const happened: Promise<void>[] = [];
  const act = async (): Promise<void> => {
    const event = during?.event;
    if (event?.type === 'kill-mirror') killable?.kill('SIGKILL');
    else if (event?.type === 'import') await publish(event.lines);
    else if (event?.type === 'kill-service') {
      await service.killService();
      await service.serve();
    }
  };
  service.intercept(async (_request, index) => {
    if (index !== during?.atRequest) return {};
    if (during.event.type === 'cut') return { cutAfter: during.moment === 'before' ? 0 : 500 };
    if (during.moment === 'during') return { during: () => happened.push(act()) };
    happened.push(act());
    await Promise.all(happened);
    return {};
  });
  const { code, stderr } = await (killable?.ended ?? service.mirror(...optionsOf(type, folder)));
  await Promise.all(happened);
  const isKilled = happened.length > 0 && during?.event.type === 'kill-mirror';
  if (!isKilled) expect(code, stderr).toBe(0);
  // The service counts nothing that a copy which has lost nothing lacks.
  expect(stderr).not.toContain('other numbers');
  return isKilled;
}

async function play(type: MirrorType, steps: readonly Step[]): Promise<void> {
  const folder = makeFolder(type);
  for (const step of [...steps, { type: 'sync', during: null } as const]) {
    if (step.type === 'import') await publish(step.lines);
    else if (step.type !== 'sync') await service.change(step.type, step.grants);
    else {
      await service.settle();
      if (await run(type, folder, step.during)) continue;
      // An import during the sync may or may not be in the copy: the next sync has it.
      if (step.during?.event.type === 'import') {
        await service.settle();
        await run(type, folder, null);
      }
      expect(readCopyOf(type, folder)).toEqual(await service.served());
    }
  }
}

/** Passes the first piece of the next listing without its first record. */
function loseRecord(): void {
  let isLost = false;
  service.intercept(async ({ target, authorization = '' }) => {
    if (isLost || !target.startsWith('/v1/changes')) return {};
    isLost = true;
    const url = `http://127.0.0.1:${service.proxy.servicePort}${target}`;
    const response = await fetch(url, { headers: { authorization, accept: 'application/x-ndjson' } });
    const [, ...rest] = (await response.text()).split(/(?<=\n)/);
    const body = rest.join('');
    const head = ['HTTP/1.1 200 OK', 'content-type: application/x-ndjson', 'connection: close'];
    return { respond: [...head, `content-length: ${Buffer.byteLength(body)}`, '', body].join('\r\n') };
  });
}

// First, since the partner may see nothing after a history.
describe.each(MIRRORS)('a copy in %s', (type) => {
  test.skipIf(type === 'python' && !isInstalled('python'))('is read again if a record was lost', async () => {
    const folder = makeFolder(type);
    await service.settle();
    loseRecord();
    const { code, stderr } = await start(type, folder).ended;
    expect(code, stderr).toBe(0);
    expect(stderr).toMatch(/other numbers of .* than the service: everything is read again/);
    expect(readCopyOf(type, folder)).toEqual(await service.served());
  });
});

describe.each(MIRRORS)('a copy in %s', (type) => {
  test.skipIf(type === 'python' && !isInstalled('python'))(
    'equals what the service shows after every sync, whatever happened before',
    () =>
      fc.assert(
        fc.asyncProperty(history, (steps) => play(type, steps)),
        { numRuns: RUNS, endOnFailure: true },
      ),
    60_000 + RUNS * 60_000,
  );
});
