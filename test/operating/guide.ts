import { readFileSync } from 'node:fs';

const GUIDE = readFileSync(new URL('../../docs/operating.md', import.meta.url), 'utf8');

/** A block of commands under its sign. */
const BLOCK = /▶ <!-- procedure: (?<name>[a-z-]+) -->\n+```sh\n(?<commands>[^`]*)```/g;

/** The commands of docs/operating.md that the tests have to run, by name. */
export const PROCEDURES: ReadonlyMap<string, string> = new Map(
  [...GUIDE.matchAll(BLOCK)].map(({ groups }) => [groups?.['name'] ?? '', groups?.['commands'] ?? '']),
);

/** How many signs there are; one that no block follows would run nothing. */
export const SIGNS = GUIDE.split('▶ <!--').length - 1;

/** A text of an operator with this machine's values; see `fillIn`. */
export function translate(text: string, values: Readonly<Record<string, string>>): string {
  return Object.entries(values).reduce((filled, [written, own]) => filled.replaceAll(written, own), text);
}

/** @throws Error where the guide has no such procedure any more. */
export function procedure(name: string): string {
  const commands = PROCEDURES.get(name);
  if (commands === undefined) throw new Error(`docs/operating.md has no procedure "${name}"`);
  return commands;
}
