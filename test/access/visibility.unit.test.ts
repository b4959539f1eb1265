import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { hasDrafts, OWNER_KINDS, RULES, shownBy, type Shown } from '../../src/access/visibility/rules.ts';
import { KINDS, type Kind } from '../../src/kinds.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

const WORDS: Readonly<Record<Shown, string>> = { own: 'its own', named: 'named by its contracts', itself: 'itself' };

/** A row of the table: what each grant shows of a kind. */
function rowOf(kind: Kind): string[] {
  const rules = new Map(shownBy(kind));
  const drafts = hasDrafts(kind) ? ' but drafts' : '';
  const cells = OWNER_KINDS.map((owner) => {
    const records = rules.get(owner);
    if (RULES[kind] === null) return 'all';
    return records === undefined ? 'none' : WORDS[records] + drafts;
  });
  return [`all${drafts}`, ...cells];
}

test("the auditor's page has the rules of the code", () => {
  const page = readFileSync(`${ROOT}docs/visibility.md`, 'utf8');
  const rows = [...page.matchAll(/^\| `([a-z-]+)` *\|(.*)\|$/gm)].map(([, kind = '', cells = '']) => [
    kind,
    cells.split('|').map((cell) => cell.trim()),
  ]);
  expect(Object.fromEntries(rows)).toEqual(Object.fromEntries(KINDS.map((kind) => [kind, rowOf(kind)])));
});

test('no other file has rules of its own about drafts or about the suppliers that contracts show', () => {
  const others = globSync('src/**/*.ts', { cwd: ROOT }).filter(
    (file) => !/^src\/(access\/visibility|database)\//.test(file) && file !== 'src/resources/solicitations/fields.ts',
  );
  expect(others.length).toBeGreaterThan(100);
  const deciding = others.filter((file) =>
    /'draft'|supplier_(lead_entities|coops)/.test(readFileSync(`${ROOT}${file}`, 'utf8')),
  );
  expect(deciding).toEqual([]);
});
