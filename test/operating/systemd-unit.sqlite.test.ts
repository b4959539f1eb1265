import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect } from 'vitest';
import { fillIn } from '../support/cluster/operator-file.ts';
import { testWith } from '../support/installed-programs.ts';
import { newFolder } from '../support/new-folder.ts';

const test = testWith('systemd');

const run = promisify(execFile);

/** The limit of "OK" in `systemd-analyze security`, whose scale of exposure from 0 to 10 is in tenths here. */
const MAX_EXPOSURE = 20;

// The program must exist.
const PROGRAM = { '/opt/partner-data-service/current/node_modules/.bin/node': process.execPath };
const BACKUP = 'partner-data-service-backup.service';
const UNITS = {
  'partner-data-service.service': fillIn('partner-data-service.service', PROGRAM),
  'partner-data-service@.service': fillIn('partner-data-service@.service', PROGRAM),
  [BACKUP]: fillIn(BACKUP, PROGRAM),
};
type UnitName = keyof typeof UNITS;
const NAMES = Object.keys(UNITS) as UnitName[];

const folder = newFolder();

function write(name: UnitName, text = UNITS[name]): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

describe.each(NAMES)('the systemd unit %s', (name) => {
  test('is valid for systemd', async () => {
    const { stderr } = await run('systemd-analyze', ['verify', write(name)]);
    expect(stderr).toBe('');
    const broken = write(name, UNITS[name].replace('[Service]', '[Service]\nNoSuchSetting=1'));
    expect((await run('systemd-analyze', ['verify', broken])).stderr).toContain('NoSuchSetting');
  });

  test('gives the service no more privileges than it needs', async () => {
    const check = ['security', '--offline=true', `--threshold=${MAX_EXPOSURE}`, '--no-pager'];
    await run('systemd-analyze', [...check, write(name)]);
    const open = write(name, UNITS[name].replace('CapabilityBoundingSet=\n', ''));
    await expect(run('systemd-analyze', [...check, open])).rejects.toThrow();
  });
});

test.each(NAMES.slice(0, 2))('the systemd unit %s allows more time for a shutdown than the service takes', (name) => {
  expect(Number(/TimeoutStopSec=(\d+)/.exec(UNITS[name])?.[1])).toBeGreaterThan(10);
});

test('the timer of the backup is valid, and starts its service every night', async () => {
  write(BACKUP);
  const timer = join(folder, 'partner-data-service-backup.timer');
  writeFileSync(timer, fillIn('partner-data-service-backup.timer', {}));
  expect((await run('systemd-analyze', ['verify', timer])).stderr).toBe('');
  const [, calendar = ''] = /OnCalendar=(.*)/.exec(readFileSync(timer, 'utf8')) ?? [];
  expect((await run('systemd-analyze', ['calendar', '--iterations=2', calendar])).stdout).toMatch(/02:30:00/);
});

test('the template differs from the unit only in its description and the admin port of its command', () => {
  const [unit = [], template = []] = NAMES.map((name) =>
    UNITS[name].split('\n').filter((line) => !line.startsWith('#')),
  );
  expect(template).toHaveLength(unit.length);
  const differing = template.filter((line, index) => line !== unit[index]);
  expect(differing).toEqual([
    'Description=Procurement data for partners (admin port %i)',
    expect.stringMatching(/^ExecStart=.* serve --admin-port %i$/),
  ]);
});
