import { existsSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import openapi from '../../docs/openapi.json' with { type: 'json' };
import { groupExamples } from '../../portal/src/examples.ts';
import { readGuide, slugOf } from '../../portal/src/guides.ts';
import { ERROR_CODES } from '../../src/http/response/errors.ts';
import { GUIDE_PATHS, PAGE_FILES, PAGES, readText, SITE } from './site.ts';

/** Paths that the service serves itself: they are not part of the site. */
const SERVED = new Set(['/openapi.json', '/openapi-3.0.json']);

const contentOf = (path: string): string => /<main[^]*<\/main>/.exec(PAGES.get(path) ?? '')?.[0] ?? '';

describe.each([...PAGES.keys()])('%s', (path) => {
  test('links only to pages, headings and files that exist', () => {
    const links = [...(PAGES.get(path) ?? '').matchAll(/ (?:href|src)="([^"]+)"/g)].map(([, href = '']) => href);
    expect(links.length).toBeGreaterThan(20);
    for (const href of links.filter((href) => !href.startsWith('https:'))) {
      const [target = '', anchor] = href.split('#');
      const page = PAGES.get(target === '' ? path : target);
      if (page === undefined && !SERVED.has(target))
        expect(existsSync(new URL(target.replace('/docs/', ''), SITE)), href).toBe(true);
      if (anchor !== undefined) expect(page, href).toContain(` id="${anchor}"`);
    }
  });

  test('has no inline script, style or handler', () => {
    expect(PAGES.get(path)).not.toMatch(/ style=|<style| on\w+=|<script(?![^>]* src="\/docs\/)/);
  });
});

test.each(GUIDE_PATHS)('%s has one title, and its headings go down one level at a time', (path) => {
  const levels = [...contentOf(path).matchAll(/<h(\d)/g)].map(([, level]) => Number(level));
  expect(levels.filter((level) => level === 1)).toEqual([1]);
  for (const [index, level] of levels.entries()) expect(level).toBeLessThanOrEqual((levels[index - 1] ?? 0) + 1);
});

test('every guide is a page, and the overview links to each guide', () => {
  const slugs = PAGE_FILES.map(slugOf);
  expect(slugs.map((slug) => (slug === 'index' ? '/docs' : `/docs/${slug}`)).sort()).toEqual([...GUIDE_PATHS].sort());
  for (const path of GUIDE_PATHS.filter((path) => path.startsWith('/docs/guides/'))) {
    expect(contentOf('/docs')).toContain(`href="${path}"`);
  }
});

test('every error code has a page with a response of that code, to which the list of errors and OpenAPI link', () => {
  const document = readText('docs/openapi.json');
  for (const code of ERROR_CODES) {
    const example = /```json\n([^`]+)```/.exec(readText(`docs/partner-guide/errors/${code}.md`))?.[1] ?? '';
    expect((JSON.parse(example) as { error: { code: string } }).error.code).toBe(code);
    expect(contentOf('/docs/errors')).toContain(`href="/docs/errors/${code}"`);
    expect(document).toContain(`[${code}](/docs/errors/${code})`);
    expect(document).toContain(`See /docs/errors/${code}.`);
  }
});

test("the partners' changelog has the versions of the project's changelog", () => {
  const versions = (file: string): string[] =>
    [...readText(file).matchAll(/^## \[?(Unreleased|[\d.]+)/gm)].map(([, version = '']) => version);
  expect(versions('docs/partner-guide/changelog.md')).toEqual(versions('CHANGELOG.md'));
});

test.each(PAGE_FILES)('%s breaks the lines of its commands, and says how to run its programs in TypeScript', (file) => {
  const blocks = [...readText(file).matchAll(/^```(sh|console|ts(?: client)?)\n([^]*?)^```/gm)];
  for (const [, language = '', code = ''] of blocks) {
    if (language.startsWith('ts')) {
      // The others are parts of a program.
      if (code.includes('process.env')) expect(code).toMatch(/^\/\/ .*: node [\w-]+\.mts\n/);
      continue;
    }
    for (const line of code.split('\n').filter((line) => line.includes('curl ')))
      expect(line.length, line).toBeLessThan(96);
  }
});

test('a path of the site that a guide mentions as code is a link', () => {
  expect(contentOf('/docs/guides/explorer')).toMatch(
    /<a href="\/docs\/explorer"><code[^>]*>\/docs\/explorer<\/code><\/a>/,
  );
  expect(contentOf('/docs')).toMatch(/<a href="\/openapi.json"><code/);
});

test('a guide that links to a file without a page does not build', () => {
  expect(() => readGuide('docs/partner-guide/keys.md', '# Keys\n\n[Operators](../operators.md)\n')).toThrow(
    'links to ../operators.md',
  );
  expect(() => readGuide('keys.md', 'Keys\n')).toThrow('does not begin with a title');
});

test('consecutive examples in different languages become one group', () => {
  const block = (language: string, code: string): string =>
    `<div class="expressive-code"><figure><pre data-language="${language}">${code}</pre></figure></div>\n`;
  const [curl, typescript, json] = [block('sh', '1'), block('ts', '2'), block('json', '3')];
  expect(groupExamples(`<p>a</p>${curl}${typescript}${json}${curl}<p>b</p>`)).toEqual([
    '<p>a</p>',
    [
      { label: 'curl', html: curl },
      { label: 'TypeScript', html: typescript },
    ],
    json,
    [{ label: 'curl', html: curl }],
    '<p>b</p>',
  ]);
});

test('the example of a solicitation has its dates in order, all of them in the future', () => {
  const dates = openapi.components.schemas.SolicitationDetail.properties;
  const keys = ['created_at', 'open_at', 'updated_at', 'questions_due_at', 'intent_to_bid_due_at', 'close_at'] as const;
  const examples = keys.map((key) => dates[key].examples[0] ?? '');
  expect(examples).toEqual(examples.toSorted());
  expect(Date.parse(examples[0] ?? '')).toBeGreaterThan(Date.now());
});
