import { readGuide, renderSidebar, type Guide } from '../guides.ts';
import { escapeHtml } from '../html.ts';
import type { Page } from '../layout.ts';
import type { RenderedText } from '../markdown.ts';

/** From how many sections on a list of them saves more time than it takes. */
const SECTIONS_WORTH_LISTING = 3;

/** A guide beside the list of all of them. */
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

/** The list of sections stands below the title, or what is said before the first of them. */
function withContents({ html, sections }: RenderedText): string {
  if (sections.length < SECTIONS_WORTH_LISTING) return html;
  const links = sections.map(({ id, text }) => `<li><a href="#${id}">${escapeHtml(text)}</a></li>`);
  const contents = `<nav class="contents" aria-label="On this page"><ul>${links.join('')}</ul></nav>\n`;
  return html.replace('<h2', () => `${contents}<h2`);
}
