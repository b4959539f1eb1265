import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect } from 'vitest';
import { fillIn } from '../support/cluster/operator-file.ts';
import { testWith } from '../support/installed-programs.ts';

const test = testWith('systemd');

const run = promisify(execFile);

/** The limit of "OK" in `systemd-analyze security`, whose scale of exposure from 0 to 10 is in tenths here. */
const MAX_EXPOSURE = 20;

const UNIT = fillIn('partner-data-service.service', {
  // The program must exist.
  '/opt/partner-data-service/current/node_modules/.bin/node': process.execPath,
});

const folder = mkdtempSync(join(tmpdir(), 'pds-unit-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function write(name: string, text = UNIT): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

describe('the systemd unit', () => {
  test.each(['partner-data-service.service', 'partner-data-service@.service'])(
    'is valid for systemd, as %s',
    async (name) => {
      const { stderr } = await run('systemd-analyze', ['verify', write(name)]);
      expect(stderr).toBe('');
      const broken = write(name, UNIT.replace('KillMode=mixed', 'KillMode=mixed\nNoSuchSetting=1'));
      expect((await run('systemd-analyze', ['verify', broken])).stderr).toContain('NoSuchSetting');
    },
  );

  test('gives the service no more privileges than it needs', async () => {
    const check = ['security', '--offline=true', `--threshold=${MAX_EXPOSURE}`, '--no-pager'];
    await run('systemd-analyze', [...check, write('partner-data-service.service')]);
    const open = write('partner-data-service.service', UNIT.replace('CapabilityBoundingSet=\n', ''));
    await expect(run('systemd-analyze', [...check, open])).rejects.toThrow();
  });

  test('allows more time for a shutdown than the service takes', () => {
    expect(Number(/TimeoutStopSec=(\d+)/.exec(UNIT)?.[1])).toBeGreaterThan(10);
  });
});
