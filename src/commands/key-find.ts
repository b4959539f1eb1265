import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { findKey, type KeyDetails } from '../access/key-admin.ts';
import { findKeys, parseKey } from '../access/keys.ts';
import type { CommandContext } from './context.ts';
import { keyJson } from './key.ts';
import { renderColumns } from './output.ts';

interface FoundKey {
  readonly id: string;
  /** Line of its first occurrence, from 1. */
  readonly line: number;
  /** Null for a key not issued here: from another installation, or made up. */
  readonly details: KeyDetails | null;
}

/**
 * `pds key find`: finds keys in a text such as a log or a leaked repository. Reads standard input, since other users
 * can see command lines, and never prints the keys.
 */
export async function find({ database, clock, output }: CommandContext, input: Readable): Promise<undefined> {
  const lines = new Map<string, number>();
  let number = 0;
  for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
    number += 1;
    for (const key of findKeys(line)) if (!lines.has(key)) lines.set(key, number);
  }
  const found: FoundKey[] = [];
  for (const [key, line] of lines) {
    found.push({ id: parseKey(key)?.id ?? '', line, details: await findKey(database, clock, key) });
  }
  output.result({ keys: found.map(jsonOf) }, renderFound(found));
  if (!output.isJson) output.note(adviceFor(found));
}

function jsonOf({ id, line, details }: FoundKey): object {
  return { line, ...(details === null ? { id, state: 'unknown' } : keyJson(details)) };
}

function renderFound(found: readonly FoundKey[]): string[] {
  const rows = found.map(({ id, line, details }) => [
    String(line),
    id,
    details?.environment ?? '-',
    details?.state ?? 'unknown',
    details?.partner ?? '-',
  ]);
  return renderColumns([['LINE', 'KEY ID', 'FOR', 'STATE', 'PARTNER'], ...rows]);
}

function adviceFor(found: readonly FoundKey[]): string {
  const active = found.filter(({ details }) => details?.state === 'active').map(({ id }) => id);
  return active.length === 0
    ? 'No key in it is good here.'
    : `Good as long as nobody ends them: pds key revoke ${active.join(', pds key revoke ')}`;
}
