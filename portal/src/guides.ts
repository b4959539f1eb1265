import { posix } from 'node:path';

/** The folder of most guides, relative to the project's root, as all paths here are. */
const GUIDES_DIRECTORY = 'docs/partner-guide';

/** The files that become pages. */
export const GUIDES_PATTERN = `{${GUIDES_DIRECTORY}/**,client,mcp}/*.md`;

/** The packages contain their own guides. */
const SLUGS: Readonly<Record<string, string>> = {
  [`${GUIDES_DIRECTORY}/README.md`]: 'index',
  'client/README.md': 'guides/client',
  'client/MIRROR.md': 'guides/mirror',
  'mcp/README.md': 'guides/assistants',
};

/** A line of a guide that only the site replaces: a built package cannot contain its own hash. */
const INTEGRITY = /<!-- integrity of the (client|server) -->\n/;

/** A guide's entry in the sidebar. */
interface Item {
  readonly label: string;
  readonly slug: string;
}

const guide = (name: string, label: string): Item => ({ label, slug: slugOf(`${GUIDES_DIRECTORY}/${name}.md`) });

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
    items: [
      guide('paging', 'Paging'),
      guide('streams', 'Streams'),
      guide('loading', 'Load it into…'),
      guide('searching', 'Searching'),
      guide('syncing', 'Keeping a copy'),
      guide('postgresql', 'A copy in PostgreSQL'),
      guide('recipes', 'Recipes'),
    ],
  },
  {
    label: 'Programs',
    items: [
      { label: 'Client', slug: slugOf('client/README.md') },
      { label: 'Mirror', slug: slugOf('client/MIRROR.md') },
      guide('python', 'Python'),
      { label: 'Assistants', slug: slugOf('mcp/README.md') },
    ],
  },
  {
    label: 'Rely on it',
    items: [
      guide('limits', 'Limits'),
      guide('limitations', 'What there is not'),
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

/** The paths of all guides, in the order of the sidebar. */
export const SLUGS_IN_ORDER: readonly string[] = SIDEBAR.flatMap(({ items }) => slugsIn(items));

function slugsIn(items: readonly object[]): string[] {
  return items.flatMap((item) => {
    if ('items' in item) return slugsIn(item.items as readonly object[]);
    return 'slug' in item ? [String(item.slug)] : [];
  });
}

/** The path of a guide's page below `/docs`. */
export function slugOf(file: string): string {
  const name = posix.relative(GUIDES_DIRECTORY, file).replace(/\.md$/, '');
  return SLUGS[file] ?? (name === 'errors' || name.startsWith('errors/') ? name : `guides/${name}`);
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
 * @param integrity the hashes of the packages, which the site shows
 * @throws Error if the guide has no title or links to a file that the site does not have
 */
export function readGuide(
  file: string,
  markdown: string,
  integrity: Readonly<Record<string, string>> = {},
): { title: string; body: string } {
  const [, title, text] = /^# (.+)\n([^]*)$/.exec(markdown) ?? [];
  if (title === undefined || text === undefined) throw new Error(`${file} does not begin with a title`);
  const body = text
    // The style sheet shows the one of the theme.
    .replaceAll(/!\[.*\]\(.*-light\.png\)/g, (picture) => `${picture} ${picture.replace('-light.', '-dark.')}`)
    .replace(
      INTEGRITY,
      (_line, name: string) =>
        `Its integrity, as npm records it in your lock file:\n\n\`\`\`text\n${integrity[name] ?? ''}\n\`\`\`\n`,
    )
    .replaceAll(
      /\[([^\]]+)\]\((?!https?:|#)([^)#]+)(#[^)]+)?\)/g,
      (_link, label: string, target: string, anchor = '') => {
        const page = resolve(file, target);
        return page === null ? label : `[${label}](${page}${String(anchor)})`;
      },
    )
    .replaceAll(/(?<![[`])`(\/[\w./-]+)`(?!\])/g, (code: string, path: string) =>
      PATHS.includes(path) ? `[${code}](${path})` : code,
    );
  return { title, body };
}

/** The address of a file that a guide links to; null if readers have the file in the client's package. */
function resolve(file: string, target: string): string | null {
  const path = posix.join(posix.dirname(file), target);
  // Pictures stay relative to the file: the build finds and copies them.
  if (path.startsWith('docs/pictures/')) return target;
  if (path.startsWith('client/examples')) return null;
  if (SERVED[path] !== undefined) return SERVED[path];
  if (!posix.matchesGlob(path, GUIDES_PATTERN)) throw new Error(`${file} links to ${target}, which has no page`);
  return posix.join('/docs', slugOf(path).replace(/^index$/, ''));
}

/** A guide's body for the site, as Markdown that is read without it: links lead to Markdown, and pictures are left out. */
export function asMarkdown(body: string): string {
  return body
    .replaceAll(/!\[[^\]]*\]\([^)]+\)\n*/g, '')
    .replaceAll(/\]\((\/docs(?:\/(?:errors|guides)[\w/-]*)?)\/?(?=[)#])/g, ']($1.md');
}
