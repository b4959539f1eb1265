import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { pipeline, Readable } from 'node:stream';
import { printableJson } from './printable.ts';
import type { CopyChange } from './store.ts';

/** The command given with `--on-change` failed. Its changes are passed to it again after the next sync. */
export class CommandError extends Error {
  override name = 'CommandError';
}

/** A change as one line of JSON. */
export function changeLine({ kind, id, change }: CopyChange): string {
  return `${printableJson(JSON.stringify({ kind, id, change }))}\n`;
}

/**
 * Runs the operator's command in a shell, with the changes as its standard input. Its output goes to stderr, since
 * stdout is for reports.
 *
 * @throws CommandError if it does not exit with 0.
 */
export async function runOnChange(command: string, changes: Iterable<CopyChange>): Promise<void> {
  const child = spawn(command, { shell: true, stdio: ['pipe', process.stderr, process.stderr] });
  const exited = once(child, 'exit') as Promise<[number | null, string | null]>;
  // A command need not read its input.
  pipeline(Readable.from(linesOf(changes)), child.stdin as NodeJS.WritableStream, () => undefined);
  const [code, signal] = await exited;
  if (code !== 0) throw new CommandError(`the command of --on-change failed (${signal ?? `exit code ${code}`})`);
}

function* linesOf(changes: Iterable<CopyChange>): Generator<string> {
  for (const change of changes) yield changeLine(change);
}
