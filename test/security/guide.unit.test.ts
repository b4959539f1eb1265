import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

test('SECURITY.md references only existing tests and files', () => {
  const root = new URL('../../', import.meta.url);
  const guide = readFileSync(new URL('SECURITY.md', root), 'utf8');
  const tests = [...guide.matchAll(/`([\w/-]+(?:\.\w+)?\.test\.ts)`/g)].map(([, name]) => `test/${name ?? ''}`);
  const links = [...guide.matchAll(/\]\(([^)#]+)/g)].map(([, name]) => name ?? '');
  expect(tests.length).toBeGreaterThan(20);
  expect(links.length).toBeGreaterThan(3);
  expect([...tests, ...links].filter((name) => !existsSync(new URL(name, root)))).toEqual([]);
});
