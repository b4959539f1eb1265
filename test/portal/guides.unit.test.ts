import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ERROR_CODES } from '../../src/http/errors.ts';
import { GUIDES, readGuide } from '../../src/portal/guides.ts';
import { renderMarkdown } from '../../src/portal/markdown.ts';

const ROOT = new URL('../../', import.meta.url);

/** The pages of the portal that are not guides. */
const OTHER_PAGES = new Set(['/openapi.json', '/openapi-3.0.json', '/docs/reference', '/docs/explorer']);

const RENDERED = new Map(
  await Promise.all(GUIDES.map(async (guide) => [guide.path, (await readGuide(guide)).html] as const)),
);

function readText(file: string): string {
  return readFileSync(new URL(file, ROOT), 'utf8');
}

describe.each(GUIDES)('$file', ({ file, path }) => {
  test('leads nowhere on the portal where nothing is', () => {
    const links = [...(RENDERED.get(path) ?? '').matchAll(/ (?:href|src)="([^"]+)"/g)].map(([, href = '']) => href);
    for (const href of links.filter((href) => !href.startsWith('https:'))) {
      const [target = '', anchor] = href.split('#');
      const html = RENDERED.get(target === '' ? path : target);
      if (target.startsWith('/docs/pictures/')) expect(existsSync(new URL(target.slice(1), ROOT)), href).toBe(true);
      else if (html === undefined) expect(OTHER_PAGES, href).toContain(target);
      else if (anchor !== undefined) expect(html, href).toContain(` id="${anchor}"`);
    }
  });

  test('leads nowhere in the repository where nothing is', () => {
    const links = [...readText(file).matchAll(/\]\(([^)#\s]+)/g)].map(([, href = '']) => href);
    for (const href of links.filter((href) => !href.startsWith('https:'))) {
      expect(existsSync(new URL(posix.join(posix.dirname(file), href), ROOT)), href).toBe(true);
    }
  });

  test('has one title, and its headings go down one level at a time', () => {
    const levels = [...(RENDERED.get(path) ?? '').matchAll(/<h(\d)/g)].map(([, level]) => Number(level));
    expect(levels.filter((level) => level === 1)).toEqual([1]);
    for (const [index, level] of levels.entries()) expect(level).toBeLessThanOrEqual((levels[index - 1] ?? 0) + 1);
  });
});

test('every guide that is written is a page, and the first one names all of them', () => {
  const written = readdirSync(new URL('docs/partner-guide', ROOT), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/partner-guide/${name}`);
  expect(
    GUIDES.map(({ file }) => file)
      .filter((file) => file.startsWith('docs/'))
      .sort(),
  ).toEqual(written.sort());
  for (const { path } of GUIDES.filter(({ path }) => path.startsWith('/docs/guides/'))) {
    expect(RENDERED.get('/docs')).toContain(`href="${path}"`);
  }
});

test('every code has a page, whose answer is of that code, and to which the table leads', () => {
  for (const code of ERROR_CODES) {
    const shown = /```json\n([^`]+)```/.exec(readText(`docs/partner-guide/errors/${code}.md`))?.[1] ?? '';
    expect((JSON.parse(shown) as { error: { code: string } }).error.code).toBe(code);
    expect(RENDERED.get('/docs/errors')).toContain(`href="/docs/errors/${code}"`);
  }
});

test("the partners' changelog has the versions of the whole one", () => {
  const versions = (file: string): string[] =>
    [...readText(file).matchAll(/^## \[?(Unreleased|[\d.]+)/gm)].map(([, version = '']) => version);
  expect(versions('docs/partner-guide/changelog.md')).toEqual(versions('CHANGELOG.md'));
});

test('a text of a guide is never taken for a tag', () => {
  const { html } = renderMarkdown(
    '# A `<b>` & "c"\n\n```sh\necho "<i>"\n```\n\n[x](https://a.example/?"&b)\n',
    (href) => href,
    [],
  );
  expect(html).toContain('<code>&lt;b&gt;</code> &amp; &quot;c&quot;');
  expect(html).toContain('echo &quot;&lt;i&gt;&quot;');
  expect(html).toContain('href="https://a.example/?&quot;&amp;b"');
});

test('ids of headings are those of GitHub', () => {
  const { html } = renderMarkdown(
    '# What `updated_since` cannot show\n## `GET`, HEAD & co.\n## Ü\n## Ü\n',
    (href) => href,
    [],
  );
  const ids = [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
  expect(ids).toEqual(['what-updated_since-cannot-show', 'get-head--co', 'ü', 'ü-1']);
});

test('a guide leads to the pages of the portal that it names by their address', () => {
  expect(RENDERED.get('/docs/guides/explorer')).toContain('<a href="/docs/explorer"><code>/docs/explorer</code></a>');
  expect(RENDERED.get('/docs/guides/first-request')).toContain('<a href="/docs/reference">');
  expect(RENDERED.get('/docs')).toContain('<a href="/openapi.json"><code>');
});

test('the OpenAPI document leads from every error to its page', () => {
  const document = readText('docs/openapi.json');
  for (const code of ERROR_CODES) {
    expect(document).toContain(`[${code}](/docs/errors/${code})`);
    expect(document).toContain(`/docs/errors/${code} says what to do.`);
  }
});
