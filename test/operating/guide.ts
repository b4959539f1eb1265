import { readFileSync } from 'node:fs';

const GUIDE = readFileSync(new URL('../../docs/operating.md', import.meta.url), 'utf8');

/** A block of commands under its procedure marker. */
const BLOCK = /▶ <!-- procedure: (?<name>[a-z-]+) -->\n+```sh\n(?<commands>[^`]*)```/g;

/** The procedures of docs/operating.md that the tests must run, by name. */
export const PROCEDURES: ReadonlyMap<string, string> = new Map(
  [...GUIDE.matchAll(BLOCK)].map(({ groups }) => [groups?.['name'] ?? '', groups?.['commands'] ?? '']),
);

/** The number of markers; one without a block after it would run nothing. */
export const SIGNS = GUIDE.split('▶ <!--').length - 1;

/** Replaces an operator's values in a text by this machine's; see `fillIn`. */
export function translate(text: string, values: Readonly<Record<string, string>>): string {
  return Object.entries(values).reduce((filled, [written, own]) => filled.replaceAll(written, own), text);
}

/** @throws Error if the guide has no such procedure. */
export function procedure(name: string): string {
  const commands = PROCEDURES.get(name);
  if (commands === undefined) throw new Error(`docs/operating.md has no procedure "${name}"`);
  return commands;
}
