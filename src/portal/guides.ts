import { readFile } from 'node:fs/promises';
import { posix } from 'node:path';
import { ERROR_CODES, ERROR_PAGES_PATH } from '../http/errors.ts';
import { OPENAPI_30_PATH, OPENAPI_PATH } from '../http/openapi.ts';
import { escapeHtml } from './html.ts';
import { renderMarkdown, type RenderedText } from './markdown.ts';
import { DOCS_PATH, EXPLORER_PATH, GUIDES_PATH, PICTURES_PATH, REFERENCE_PATH } from './paths.ts';

/** A page written in Markdown. */
export interface Guide {
  /** Name in the sidebar. */
  readonly name: string;
  readonly path: string;
  /** Path relative to the project root. */
  readonly file: string;
}

const ROOT = new URL('../../', import.meta.url);

/** The home page. */
const HOME: Guide = { name: 'Home', path: DOCS_PATH, file: 'docs/partner-guide/README.md' };

const ERRORS: Guide = { name: 'Errors', path: ERROR_PAGES_PATH, file: 'docs/partner-guide/errors.md' };

/** The sidebar's chapters. */
const CHAPTERS: readonly { readonly name: string; readonly guides: readonly Guide[] }[] = [
  {
    name: 'Begin',
    guides: [
      HOME,
      guide('first-request', 'First request'),
      guide('keys', 'Keys and environments'),
      guide('explorer', 'Explorer'),
    ],
  },
  {
    name: 'Read',
    guides: [guide('paging', 'Paging'), guide('searching', 'Searching'), guide('syncing', 'Keeping a copy')],
  },
  {
    name: 'Rely on it',
    guides: [ERRORS, guide('limits', 'Limits'), guide('caching', 'Caching, compression')],
  },
  {
    name: 'Changes',
    guides: [guide('versioning', 'Versions'), guide('changelog', 'Changelog')],
  },
];

/** One page per error code. */
const ERROR_GUIDES: readonly Guide[] = ERROR_CODES.map((code) => ({
  name: code,
  path: `${ERROR_PAGES_PATH}/${code}`,
  file: `docs/partner-guide/errors/${code}.md`,
}));

/** All guides in listing order, then the pages of the error codes. */
export const GUIDES: readonly Guide[] = [...CHAPTERS.flatMap(({ guides }) => guides), ...ERROR_GUIDES];

/** Other link targets of guides, by file path in the project. */
const OTHER_PATHS: Readonly<Record<string, string>> = {
  'docs/openapi.json': OPENAPI_PATH,
  'docs/openapi-3.0.json': OPENAPI_30_PATH,
};

/**
 * The portal turns these paths into links if they appear as code, as in `/docs/explorer`. Outside the portal the host
 * is unknown.
 */
const ADDRESSES: readonly string[] = [DOCS_PATH, REFERENCE_PATH, EXPLORER_PATH, OPENAPI_PATH, OPENAPI_30_PATH];

function guide(id: string, name: string): Guide {
  return { name, path: `${GUIDES_PATH}/${id}`, file: `docs/partner-guide/${id}.md` };
}

/**
 * Reads and renders a guide for the portal.
 *
 * @throws Error if it links to a file that the portal does not serve
 */
export async function readGuide({ file }: Guide): Promise<RenderedText> {
  const markdown = await readFile(new URL(file, ROOT), 'utf8');
  return renderMarkdown(markdown, (href) => resolveLink(file, href), ADDRESSES);
}

function resolveLink(from: string, href: string): string {
  if (/^(https?:|#)/.test(href)) return href;
  const [target = '', anchor] = href.split('#');
  const file = posix.join(posix.dirname(from), target);
  const path = GUIDES.find((guide) => guide.file === file)?.path ?? OTHER_PATHS[file] ?? picturePath(file);
  if (path === undefined) throw new Error(`${from} links to ${href}, which is no page of the portal`);
  return anchor === undefined ? path : `${path}#${anchor}`;
}

function picturePath(file: string): string | undefined {
  return posix.dirname(file) === 'docs/pictures' ? `${PICTURES_PATH}/${posix.basename(file)}` : undefined;
}

/** Renders the sidebar with the current page marked. On narrow screens it is collapsed. */
export function renderSidebar(path: string): string {
  const chapters = CHAPTERS.map(
    ({ name, guides }) => `<h2>${name}</h2>\n<ul>${guides.map((guide) => renderEntry(guide, path)).join('')}</ul>`,
  );
  return `<nav class="sidebar" aria-label="Guides">
<details><summary>All guides</summary>
${chapters.join('\n')}
</details>
</nav>`;
}

/** Error codes are listed below their overview if the current page is one of them. */
function renderEntry(guide: Guide, path: string): string {
  const within = guide === ERRORS && path.startsWith(ERROR_PAGES_PATH) ? ERROR_GUIDES : [];
  const below = within.length > 0 ? `<ul>${within.map((code) => renderEntry(code, path)).join('')}</ul>` : '';
  const current = guide.path === path ? ' aria-current="page"' : '';
  return `<li><a href="${guide.path}"${current}>${escapeHtml(guide.name)}</a>${below}</li>`;
}
