import { existsSync, statSync } from 'node:fs';
import { posix } from 'node:path';
import GithubSlugger from 'github-slugger';
import type { Token, Tokens } from 'marked';
import { expect, test } from 'vitest';
import { DOCUMENTS, readTokens, ROOT } from './documents.ts';

/** The anchors of each document's headings, as GitHub generates them. */
const ANCHORS = new Map(DOCUMENTS.map((file) => [file, readAnchors(file)]));

function readAnchors(file: string): Set<string> {
  const slugger = new GithubSlugger();
  const headings = readTokens(file).filter((token): token is Tokens.Heading => token.type === 'heading');
  return new Set(headings.map(({ tokens }) => slugger.slug(textOf(tokens))));
}

/** The plain text of a heading: links and code without their markup. */
function textOf(tokens: readonly { type: string; tokens?: Token[] | undefined; text?: string }[]): string {
  return tokens.map(({ tokens: inner, text = '' }) => (inner === undefined ? text : textOf(inner))).join('');
}

/** Why a link is broken; null if it works or is external. */
function problemOf(file: string, href: string): string | null {
  if (/^(https?|mailto):/.test(href)) return URL.canParse(href) ? null : 'is no address';
  const [path = '', anchor] = decodeURI(href).split('#');
  const target = path === '' ? file : posix.join(posix.dirname(file), path);
  if (path.startsWith('/')) return 'begins with "/", which is another place on GitHub than on the portal';
  if (!existsSync(`${ROOT}/${target}`)) return `${target} does not exist`;
  if (anchor === undefined) return null;
  if (statSync(`${ROOT}/${target}`).isDirectory()) return `${target} is a folder, which has no anchors`;
  return ANCHORS.get(target)?.has(anchor) === true ? null : `${target} has no heading #${anchor}`;
}

test.each(DOCUMENTS)('%s has only links and anchors that lead somewhere', (file) => {
  const links = readTokens(file).filter((token): token is Tokens.Link | Tokens.Image =>
    ['link', 'image'].includes(token.type),
  );
  const dead = links.map(({ href }) => [href, problemOf(file, href)]).filter(([, problem]) => problem !== null);
  expect(dead).toEqual([]);
});
