import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { npmSettings } from '../../../test/support/npm-settings.ts';

export const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** Kills a program that hangs, even if its test has timed out already. */
const MAX_RUN_MS = 120_000;

export interface RunOptions {
  readonly cwd?: string;
  /** In addition to PATH and HOME. */
  readonly env?: Readonly<Record<string, string>>;
  /** Default: two minutes. */
  readonly timeoutMs?: number;
}

/**
 * Runs a program until it exits.
 *
 * @returns its standard output.
 * @throws Error with its output if it fails or times out.
 */
export function run(
  program: string,
  args: readonly string[],
  { cwd = ROOT, env = {}, timeoutMs = MAX_RUN_MS }: RunOptions = {},
): Promise<string> {
  const { PATH = '', HOME = '' } = process.env;
  return new Promise((resolve, reject) => {
    const settings = {
      PATH: [join(ROOT, 'node_modules/.bin'), join(ROOT, 'tools/node_modules/.bin'), PATH].join(':'),
      HOME,
      ...env,
    };
    execFile(
      program,
      args,
      { cwd, env: settings, maxBuffer: 32 * 1024 * 1024, timeout: timeoutMs },
      (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else reject(new Error(`${[program, ...args].join(' ')}\n${error.message}\n${stdout}`, { cause: stderr }));
      },
    );
  });
}

/** Runs npm with this project's registry settings, but without the other settings of an npm that runs the tests. */
export function runNpm(args: readonly string[], cwd: string, timeoutMs?: number): Promise<string> {
  const options = { cwd, env: npmSettings(), ...(timeoutMs !== undefined && { timeoutMs }) };
  return run('npm', [...args, '--no-audit', '--no-fund', '--no-update-notifier', '--loglevel=error'], options);
}
