import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import type { Scope } from '../../src/access/scope.ts';
import { includesScope } from '../../src/access/visibility/owners.ts';
import { hasDrafts, OWNER_KINDS, RULES, shownBy, type Shown } from '../../src/access/visibility/rules.ts';
import { KINDS, type Kind } from '../../src/kinds.ts';
import { EPOCH } from '../../src/timestamp.ts';

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

test('a scope includes another only if it has everything, or each of its grants', () => {
  const scopeOf = (leadEntities: readonly string[], everythingSince: string | null = null): Scope => {
    return { everythingSince, leadEntities: new Map(leadEntities.map((id) => [id, EPOCH])), coops: new Map() };
  };
  const [one, both, other, everything] = [scopeOf(['a']), scopeOf(['a', 'b']), scopeOf(['b']), scopeOf([], EPOCH)];
  for (const [scope, included] of [
    [both, one],
    [everything, both],
  ] as const) {
    expect(includesScope(scope, included)).toBe(true);
    expect(includesScope(included, scope)).toBe(false);
  }
  expect(includesScope(one, other)).toBe(false);
});
