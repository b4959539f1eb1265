import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Finding } from '../../src/checks/finding.ts';
import { callPds } from './call-pds.ts';
import { runPds, runPdsThrough } from './run-pds.ts';

/** Each check that hangs is given up after six seconds, in sequence; the rest is for a busy machine. */
const MAX_COMMAND_MS = 20_000;

/** The findings of `pds check`, after the assertions common to all of them. */
export interface Checked {
  readonly code: number | null;
  readonly findings: readonly Finding[];
  /** The failures and warnings, one line each: `fail|database: it …`. */
  readonly troubles: readonly string[];
}

/** The surroundings in which `pds check` is run. */
export interface CheckSetup {
  readonly settings: Record<string, string>;
  /** Texts that the output must not contain. */
  readonly secrets?: readonly string[];
  /** A program that executes the rest of its command line. */
  readonly launcher?: readonly string[];
  /** A folder that the check must not change; `DIR` in the reports. */
  readonly folder?: string;
}

/** Runs `pds check` with only these settings. */
export async function runCheck({ settings, secrets = [], launcher = [] }: CheckSetup): Promise<Checked> {
  const startedMs = performance.now();
  const words = ['check', '--json'];
  // A clock is replaced when a process starts.
  const call = 'LD_PRELOAD' in settings ? runPds : callPds;
  const { code, stdout, stderr } = await (launcher.length === 0
    ? call(words, settings)
    : runPdsThrough(launcher, words, settings));
  expect(performance.now() - startedMs).toBeLessThan(MAX_COMMAND_MS);
  expect(stderr).toBe('');
  for (const secret of secrets) expect(stdout).not.toContain(secret);
  const { ok, findings } = JSON.parse(stdout) as { ok: boolean; findings: Finding[] };
  const troubles = findings.filter(({ status }) => status !== 'ok');
  for (const finding of findings)
    expect({ ...finding, hasAdvice: finding.advice !== null }).toMatchObject({ hasAdvice: finding.status !== 'ok' });
  const fails = findings.some(({ status }) => status === 'fail');
  expect({ code, ok }).toEqual({ code: fails ? 1 : 0, ok: !fails });
  return { code, findings, troubles: troubles.map(({ about, status, message }) => `${status}|${about}: ${message}`) };
}

/** A problem, and all failures and warnings that `pds check` must report for it. */
export interface Problem {
  readonly name: string;
  /** Exact lines, or patterns. Empty if there is nothing to report. */
  readonly reports: readonly (string | RegExp)[];
  readonly cause: (stack: AsyncDisposableStack) => Promise<CheckSetup> | CheckSetup;
}

/** The contract of `pds check` for each problem: it reports exactly that, each time, and changes nothing. */
export function testProblems(problems: readonly Problem[]): void {
  test.for(problems.map((problem) => [problem.name, problem] as const))(
    'pds check reports %s, and changes nothing',
    async ([, { reports, cause }]) => {
      await using stack = new AsyncDisposableStack();
      const setup = await cause(stack);
      const before = filesIn(setup.folder);
      for (const time of ['first', 'second']) {
        const { troubles } = await runCheck(setup);
        const reported = troubles.map((line) =>
          setup.folder === undefined ? line : line.replaceAll(setup.folder, 'DIR'),
        );
        const expected = reports.map((line): unknown =>
          typeof line === 'string' ? line : expect.stringMatching(line),
        );
        expect(reported, time).toEqual(expected);
      }
      expect(filesIn(setup.folder)).toEqual(before);
    },
  );
}

/** The contents of all files below a folder, and null for each folder. A reader leaves SQLite's log, which is empty. */
function filesIn(folder: string | undefined): Map<string, Buffer | null> {
  const found = folder === undefined ? [] : readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const names = found.filter((name) => !/-(?:shm|wal)$/.test(name));
  const contents = (path: string): Buffer | null => (statSync(path).isFile() ? readFileSync(path) : null);
  return new Map(names.sort().map((name) => [name, contents(join(folder ?? '', name))]));
}
