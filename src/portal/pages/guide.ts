import { readGuide, renderSidebar, type Guide } from '../guides.ts';
import { escapeHtml } from '../html.ts';
import type { Page } from '../layout.ts';
import type { RenderedText } from '../markdown.ts';

/** Minimum number of sections for a table of contents to save time. */
const SECTIONS_WORTH_LISTING = 3;

/** A guide, with the sidebar of all guides. */
export async function makeGuide(guide: Guide): Promise<Page> {
  const text = await readGuide(guide);
  return {
    title: text.title,
    main: `<article class="prose">\n${withContents(text)}</article>`,
    sidebar: renderSidebar(guide.path),
    styles: ['guides.css'],
    scripts: ['copy.js', 'copy-buttons.js'],
  };
}

/** Inserts the table of contents before the first section, after the title and introduction. */
function withContents({ html, sections }: RenderedText): string {
  if (sections.length < SECTIONS_WORTH_LISTING) return html;
  const links = sections.map(({ id, text }) => `<li><a href="#${id}">${escapeHtml(text)}</a></li>`);
  const contents = `<nav class="contents" aria-label="On this page"><ul>${links.join('')}</ul></nav>\n`;
  return html.replace('<h2', () => `${contents}<h2`);
}
