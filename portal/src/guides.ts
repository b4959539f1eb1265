import { posix } from 'node:path';

/** The folder of the guides, relative to the project's root. */
export const GUIDES_DIRECTORY = 'docs/partner-guide';

/** A guide's entry in the sidebar. */
interface Item {
  readonly label: string;
  readonly slug: string;
}

const guide = (name: string, label: string): Item => ({ label, slug: slugOf(`${name}.md`) });

/** The sidebar. Its order is that of "Previous" and "Next". */
export const SIDEBAR = [
  {
    label: 'Begin',
    items: [
      guide('README', 'Overview'),
      guide('first-request', 'First request'),
      guide('keys', 'Keys and environments'),
      guide('explorer', 'Using the explorer'),
    ],
  },
  {
    label: 'Read',
    items: [guide('paging', 'Paging'), guide('searching', 'Searching'), guide('syncing', 'Keeping a copy')],
  },
  {
    label: 'Rely on it',
    items: [
      guide('limits', 'Limits'),
      guide('caching', 'Caching and compression'),
      guide('errors', 'Errors'),
      {
        label: 'Error codes',
        collapsed: true,
        items: ['validation_failed', 'unauthorized', 'forbidden', 'not_found', 'rate_limited', 'internal_error'].map(
          (code) => guide(`errors/${code}`, code),
        ),
      },
    ],
  },
  {
    label: 'Changes',
    items: [guide('versioning', 'Versions'), guide('changelog', 'Changelog')],
  },
  {
    label: 'Tools',
    items: [
      { label: 'API reference', link: '/reference' },
      { label: 'Explorer', link: '/explorer' },
    ],
  },
];

/**
 * The path of a guide's page below `/docs`.
 *
 * @param file relative to the folder of the guides
 */
export function slugOf(file: string): string {
  const name = file.replace(/\.md$/, '');
  if (name === 'README') return 'index';
  return name === 'errors' || name.startsWith('errors/') ? name : `guides/${name}`;
}

/** Targets outside the guides that the service serves, by file. */
const SERVED: Readonly<Record<string, string>> = {
  'docs/openapi.json': '/openapi.json',
  'docs/openapi-3.0.json': '/openapi-3.0.json',
};

/** Paths that become links wherever a guide mentions them as code. */
const PATHS = ['/docs', '/docs/reference', '/docs/explorer', '/openapi.json', '/openapi-3.0.json'];

/**
 * Splits a guide, which is also readable in the repository, into its title and a body for the site: links to files
 * become links to pages.
 *
 * @param file relative to the folder of the guides
 * @throws Error if the guide has no title or links to a file that the site does not have
 */
export function readGuide(file: string, markdown: string): { title: string; body: string } {
  const [, title, text] = /^# (.+)\n([^]*)$/.exec(markdown) ?? [];
  if (title === undefined || text === undefined) throw new Error(`${file} does not begin with a title`);
  const body = text
    .replaceAll(/\]\((?!https?:|#)([^)#]+)(#[^)]+)?\)/g, (_link, target: string, anchor = '') => {
      return `](${resolve(file, target)}${String(anchor)})`;
    })
    .replaceAll(/(?<![[`])`(\/[\w./-]+)`(?!\])/g, (code: string, path: string) =>
      PATHS.includes(path) ? `[${code}](${path})` : code,
    );
  return { title, body };
}

function resolve(file: string, target: string): string {
  const path = posix.join(GUIDES_DIRECTORY, posix.dirname(file), target);
  // Pictures stay relative to the file: the build finds and copies them.
  if (path.startsWith('docs/pictures/')) return target;
  if (SERVED[path] !== undefined) return SERVED[path];
  const guide = posix.relative(GUIDES_DIRECTORY, path);
  if (guide.startsWith('..') || !guide.endsWith('.md'))
    throw new Error(`${file} links to ${target}, which has no page`);
  return posix.join('/docs', slugOf(guide).replace(/^index$/, ''));
}
