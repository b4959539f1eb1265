import { readFileSync } from 'node:fs';

/**
 * A file of `ops/` with this machine's values in the place of those that an operator changes.
 *
 * @throws Error where one of them is not in the file: then the file and the guide moved apart from the tests.
 */
export function fillIn(name: string, values: Readonly<Record<string, string>>): string {
  let text = readFileSync(new URL(`../../../ops/${name}`, import.meta.url), 'utf8');
  for (const [written, own] of Object.entries(values)) {
    if (!text.includes(written)) throw new Error(`ops/${name} holds no "${written}"`);
    text = text.replaceAll(written, own);
  }
  return text;
}
