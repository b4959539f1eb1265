import type { FastifyInstance } from 'fastify';
import { ERROR_PAGES_PATH } from '../http/errors.ts';
import { registerStaticText } from '../http/static-text.ts';
import { escapeHtml } from './html.ts';
import { ASSETS_PATH, DOCS_PATH, EXPLORER_PATH, GUIDES_PATH, REFERENCE_PATH } from './paths.ts';

/** The variable parts of a page. File names are relative to `browser/`. */
export interface Page {
  /** Window title; the service's name is appended. */
  readonly title: string;
  /** HTML that begins with a single h1. */
  readonly main: string;
  /** HTML of the sidebar. */
  readonly sidebar?: string;
  /** In addition to `shell.css` and `styles.css`. */
  readonly styles?: readonly string[];
  /** ES modules, which run once the page is parsed. */
  readonly scripts?: readonly string[];
}

/**
 * Allows only resources from the service itself, and no inline scripts or styles, so injected markup can neither run
 * nor restyle anything.
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
 * Registers a portal page, rendered on its first request.
 *
 * @param others additional paths that serve the page, which works because all its links are absolute paths
 */
export function registerPage(
  app: FastifyInstance,
  path: string,
  make: () => Promise<Page>,
  others: readonly string[] = [],
): void {
  const render = async (): Promise<string> => renderPage(path, await make());
  // Many people type a trailing slash.
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

/** Elements in the head of every page. */
export function renderHead(title: string, styles: readonly string[]): string {
  return `<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title === SERVICE ? title : `${title} · ${SERVICE}`)}</title>
<link rel="icon" href="${ASSETS_PATH}/icon.svg" type="image/svg+xml">
${styles.map((name) => `<link rel="stylesheet" href="${ASSETS_PATH}/${name}">`).join('\n')}`;
}

/** The header of every page, with the current section marked. */
export function renderHeader(path: string): string {
  const links = PLACES.map(
    (place) => `<li><a href="${place.path}"${markCurrent(place.path, path)}>${place.name}</a></li>`,
  );
  return `<header class="site-header">
<a class="site-name" href="${DOCS_PATH}">${SERVICE}</a>
<nav aria-label="Main"><ul>${links.join('')}</ul></nav>
</header>`;
}

/** Any guide marks the Guides section, although its link leads to another page. */
function markCurrent(place: string, path: string): string {
  if (place === path) return ' aria-current="page"';
  const isGuide = path.startsWith(`${GUIDES_PATH}/`) || path.startsWith(ERROR_PAGES_PATH);
  return isGuide && place.startsWith(`${GUIDES_PATH}/`) ? ' aria-current="true"' : '';
}
