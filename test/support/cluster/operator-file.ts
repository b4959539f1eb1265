import { readFileSync } from 'node:fs';

/**
 * Reads a file of `ops/` with the values that operators change replaced by this machine's.
 *
 * @throws Error if a value to replace is not in the file, that is if the file and the tests have diverged.
 */
export function fillIn(name: string, values: Readonly<Record<string, string>>): string {
  let text = readFileSync(new URL(`../../../ops/${name}`, import.meta.url), 'utf8');
  for (const [written, own] of Object.entries(values)) {
    if (!text.includes(written)) throw new Error(`ops/${name} holds no "${written}"`);
    text = text.replaceAll(written, own);
  }
  return text;
}
