import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { ROOT } from '../../scripts/read-dependencies.ts';
import { testWith } from '../../test/support/installed-programs.ts';

const MAX_MS = 900_000;

testWith(
  'curl',
  'postgresql',
  'tools',
  'wrk',
)(
  'the benchmark runs every part on both databases, and every response is a success',
  async () => {
    const { stdout, stderr } = await promisify(execFile)('npm', ['run', 'bench:smoke'], { cwd: ROOT, timeout: MAX_MS });
    expect(stdout + stderr).toContain('smoke: everything ran, and every response was a success');
  },
  MAX_MS,
);
