import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** A program that hangs is ended, though its test has given up before. */
const MAX_RUN_MS = 120_000;

export interface RunOptions {
  readonly cwd?: string;
  /** Besides the path and the home directory. */
  readonly env?: Readonly<Record<string, string>>;
  /** Two minutes unless it is given. */
  readonly timeoutMs?: number;
}

/**
 * Runs a program to its end.
 *
 * @returns its standard output.
 * @throws Error with all that it wrote, where it fails.
 */
export function run(
  program: string,
  words: readonly string[],
  { cwd = ROOT, env = {}, timeoutMs = MAX_RUN_MS }: RunOptions = {},
): Promise<string> {
  const { PATH = '', HOME = '' } = process.env;
  return new Promise((resolve, reject) => {
    const settings = { PATH: `${join(ROOT, 'node_modules/.bin')}:${PATH}`, HOME, ...env };
    execFile(
      program,
      words,
      { cwd, env: settings, maxBuffer: 32 * 1024 * 1024, timeout: timeoutMs },
      (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else reject(new Error(`${[program, ...words].join(' ')}\n${error.message}\n${stdout}`, { cause: stderr }));
      },
    );
  });
}

/** Runs npm, by the registry that this project is installed from, and without what an npm around it has set. */
export function runNpm(words: readonly string[], cwd: string, timeoutMs?: number): Promise<string> {
  const registry = Object.entries(process.env).filter(([name]) =>
    /^npm_config_(registry|cache|userconfig)$/i.test(name),
  );
  const env = Object.fromEntries(registry.map(([name, value = '']) => [name, value]));
  const options = { cwd, env, ...(timeoutMs !== undefined && { timeoutMs }) };
  return run('npm', [...words, '--no-audit', '--no-fund', '--no-update-notifier', '--loglevel=error'], options);
}
