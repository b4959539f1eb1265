import { readdirSync, readFileSync } from 'node:fs';

export const ROOT = new URL('../../', import.meta.url);

/** The folder of the site as built. */
export const SITE = new URL('portal/dist/', ROOT);

/** The guides' files, relative to the project. */
export const GUIDE_FILES: readonly string[] = readdirSync(new URL('docs/partner-guide', ROOT), {
  recursive: true,
  encoding: 'utf8',
})
  .filter((name) => name.endsWith('.md'))
  .map((name) => `docs/partner-guide/${name}`)
  .sort();

/** The files that are pages: the guides, and those of the packages. */
export const PAGE_FILES: readonly string[] = [...GUIDE_FILES, 'client/README.md', 'client/MIRROR.md', 'mcp/README.md'];

/** The site's pages as built, by path. */
export const PAGES: ReadonlyMap<string, string> = new Map(
  readdirSync(SITE, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('index.html'))
    .map((name) => [`/docs/${name}`.replace(/\/index\.html$/, ''), readFileSync(new URL(name, SITE), 'utf8')]),
);

/** The pages made of guides. */
export const GUIDE_PATHS: readonly string[] = [...PAGES.keys()].filter(
  (path) => !['/docs/explorer', '/docs/reference'].includes(path),
);

/** A file of the project. */
export function readText(file: string): string {
  return readFileSync(new URL(file, ROOT), 'utf8');
}
