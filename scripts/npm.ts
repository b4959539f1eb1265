import { spawnSync } from 'node:child_process';
import { ROOT } from './read-dependencies.ts';

export interface NpmOutcome {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs npm in the project: the npm that runs this script, otherwise the installed one. */
export function runNpm(...words: string[]): NpmOutcome {
  const { npm_execpath: script } = process.env;
  const [program, ...first] = script === undefined ? ['npm'] : [process.execPath, script];
  const { status, stdout, stderr, error } = spawnSync(program, [...first, ...words], {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (error !== undefined) throw error;
  return { status, stdout, stderr };
}
