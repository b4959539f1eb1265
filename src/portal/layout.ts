import type { FastifyInstance } from 'fastify';
import { ERROR_PAGES_PATH } from '../http/errors.ts';
import { registerStaticText } from '../http/static-text.ts';
import { escapeHtml } from './html.ts';
import { ASSETS_PATH, DOCS_PATH, EXPLORER_PATH, GUIDES_PATH, REFERENCE_PATH } from './paths.ts';

/** What differs from page to page. Files are named as they stand in `browser/`. */
export interface Page {
  /** Of the window; the service's name is put behind it. */
  readonly title: string;
  /** HTML. Its headings begin with one h1. */
  readonly main: string;
  /** HTML beside it: the list of pages that it belongs to. */
  readonly sidebar?: string;
  /** Besides `styles.css`. */
  readonly styles?: readonly string[];
  /** ES modules, run when the page is read. */
  readonly scripts?: readonly string[];
}

/**
 * Nothing but what the service itself has, and nothing that stands in the page: neither scripts
 * nor styles, so that a text that found its way into one could do nothing.
 */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ');

const SERVICE = 'Partner data service';

const PLACES = [
  { name: 'Home', path: DOCS_PATH },
  { name: 'Guides', path: `${GUIDES_PATH}/first-request` },
  { name: 'Reference', path: REFERENCE_PATH },
  { name: 'Explorer', path: EXPLORER_PATH },
];

/**
 * `GET` of a page of the portal, made when it is first asked for.
 *
 * @param others at which it is given as well: every address in the page is a whole path
 */
export function registerPage(
  app: FastifyInstance,
  path: string,
  make: () => Promise<Page>,
  others: readonly string[] = [],
): void {
  const render = async (): Promise<string> => renderPage(path, await make());
  // With a slash behind it, it is what many write.
  for (const address of [path, `${path}/`, ...others])
    registerStaticText(app, address, 'text/html; charset=utf-8', render, {
      'Content-Security-Policy': CONTENT_SECURITY_POLICY,
    });
}

function renderPage(path: string, { title, main, sidebar, styles = [], scripts = [] }: Page): string {
  return `<!doctype html>
<html lang="en">
<head>
${renderHead(title, ['shell.css', 'styles.css', ...styles])}
${scripts.map((name) => `<script type="module" src="${ASSETS_PATH}/${name}"></script>\n`).join('')}</head>
<body>
<a class="skip-link" href="#main">Skip to content</a>
${renderHeader(path)}
<div class="${sidebar === undefined ? 'columns' : 'columns with-sidebar'}">
${sidebar ?? ''}
<main id="main" tabindex="-1">
${main}
</main>
</div>
</body>
</html>
`;
}

/** What stands in the head of every page. */
export function renderHead(title: string, styles: readonly string[]): string {
  return `<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title === SERVICE ? title : `${title} · ${SERVICE}`)}</title>
<link rel="icon" href="${ASSETS_PATH}/icon.svg" type="image/svg+xml">
${styles.map((name) => `<link rel="stylesheet" href="${ASSETS_PATH}/${name}">`).join('\n')}`;
}

/** The bar above every page, with the place marked that the page is in. */
export function renderHeader(path: string): string {
  const links = PLACES.map(
    (place) => `<li><a href="${place.path}"${markCurrent(place.path, path)}>${place.name}</a></li>`,
  );
  return `<header class="site-header">
<a class="site-name" href="${DOCS_PATH}">${SERVICE}</a>
<nav aria-label="Main"><ul>${links.join('')}</ul></nav>
</header>`;
}

/** A guide is in the place of the guides, though it is not the page that the link leads to. */
function markCurrent(place: string, path: string): string {
  if (place === path) return ' aria-current="page"';
  const isGuide = path.startsWith(`${GUIDES_PATH}/`) || path.startsWith(ERROR_PAGES_PATH);
  return isGuide && place.startsWith(`${GUIDES_PATH}/`) ? ' aria-current="true"' : '';
}
