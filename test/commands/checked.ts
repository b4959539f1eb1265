import { expect } from 'vitest';
import type { Finding } from '../../src/checks/finding.ts';
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

/**
 * Runs `pds check` with only these settings.
 *
 * @param secrets that the output must not contain.
 */
export async function runCheck(
  settings: Record<string, string>,
  { secrets = [], launcher = [] }: { secrets?: readonly string[]; launcher?: readonly string[] } = {},
): Promise<Checked> {
  const startedMs = performance.now();
  const words = ['check', '--json'];
  const { code, stdout, stderr } = await (launcher.length === 0
    ? runPds(words, settings)
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
