import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { takeOutVersionBefore } from '../../../test/upgrade/version-before.ts';
import { readCopy, STORES, storeOptions } from './support/copies.ts';
import { firstCatalog } from './support/histories.ts';
import { MirroredService } from './support/mirrored-service.ts';

let before: string;
let formerMirror: string;
let service: MirroredService;

beforeAll(() => {
  before = mkdtempSync(join(tmpdir(), 'pds-former-mirror-'));
  formerMirror = join(takeOutVersionBefore(before), '../../client/src/mirror/main.ts');
});
afterAll(() => rmSync(before, { recursive: true, force: true }));
beforeEach(async () => {
  service = await MirroredService.start(firstCatalog(), { name: 'acme', everything: true });
});
afterEach(() => service.close());

describe.each(STORES)('a copy of version 1.0 in %s', (type) => {
  const args = (): string[] => storeOptions(type, service.folder);

  test('can be read while it is taken over, and then equals what the service shows', async () => {
    const first = await service.startFormerMirror(formerMirror, ...args()).ended;
    expect(first.code, first.stderr).toBe(0);
    const former = readCopy(type, service.folder);
    expect(former.contracts.size).toBe(10);
    await service.publish({
      contracts: [{ id: 'ctr_1', deleted: true }],
      solicitations: [{ id: 'sol_1', deleted: true }],
      coops: [{ id: 'co_0', name: 'Renamed' }],
    });
    await service.settle();
    const killed = service.startMirror(...args());
    service.intercept((_request, index) => {
      if (index === 1) killed.kill('SIGKILL');
      return {};
    });
    await killed.ended;
    const during = readCopy(type, service.folder);
    expect([...during.contracts.keys()]).toEqual([...former.contracts.keys()]);
    expect(during.contracts).toEqual(former.contracts);
    service.intercept(null);
    const { code, stdout, stderr } = await service.mirror(...args(), '--json');
    expect(code, stderr).toBe(0);
    expect(stdout.trimEnd().split('\n')).toHaveLength(1);
    expect(readCopy(type, service.folder)).toEqual(await service.served());
    if (type === 'ndjson')
      expect(readdirSync(join(service.folder, 'copy/.mirror')).sort()).toEqual(['state.json', 'unreported.ndjson']);
  });
});
