import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { pipeline, Readable } from 'node:stream';
import { atTime } from './kinds.ts';
import { printableJson } from './printable.ts';
import type { CopyChange } from './store.ts';

/** The command given with `--on-change` failed. Its changes are passed to it again after the next sync. */
export class CommandError extends Error {
  override name = 'CommandError';
}

/** A change as one line of JSON, with the fields that changed and the record, which is last. A removed one is as it was. */
export function changeLine({ kind, id, change, before, record }: CopyChange, nowMs: number): string {
  const old = before === null ? null : atTime(kind, before, nowMs);
  const now = record === null ? null : atTime(kind, record, nowMs);
  const fields = old === null || now === null ? undefined : changedFields(old, now);
  const line = JSON.stringify({ kind, id, change, fields });
  const text = now ?? old;
  return `${printableJson(text === null ? line : `${line.slice(0, -1)},"record":${text}}`)}\n`;
}

/** The fields that differ, with their values. */
function changedFields(oldJson: string, newJson: string): Record<string, { old: unknown; new: unknown }> {
  const [before, after] = [oldJson, newJson].map((json) => JSON.parse(json) as Record<string, unknown>);
  const fields: Record<string, { old: unknown; new: unknown }> = {};
  for (const name of new Set([before, after].flatMap((record) => Object.keys(record ?? {})))) {
    const [old, now] = [before?.[name] ?? null, after?.[name] ?? null];
    if (JSON.stringify(old) !== JSON.stringify(now)) fields[name] = { old, new: now };
  }
  return fields;
}

/**
 * Runs the operator's command in a shell, with the changes as its standard input. Its output goes to stderr, since
 * stdout is for reports.
 *
 * @throws CommandError if it does not exit with 0.
 */
export async function runOnChange(command: string, changes: Iterable<CopyChange>, nowMs: number): Promise<void> {
  const child = spawn(command, { shell: true, stdio: ['pipe', process.stderr, process.stderr] });
  const exited = once(child, 'exit') as Promise<[number | null, string | null]>;
  // A command need not read its input.
  pipeline(Readable.from(linesOf(changes, nowMs)), child.stdin as NodeJS.WritableStream, () => undefined);
  const [code, signal] = await exited;
  if (code !== 0) throw new CommandError(`the command of --on-change failed (${signal ?? `exit code ${code}`})`);
}

function* linesOf(changes: Iterable<CopyChange>, nowMs: number): Generator<string> {
  for (const change of changes) yield changeLine(change, nowMs);
}
