import { Marked, type Token, type Tokens } from 'marked';
import { escapeHtml } from './html.ts';

/** A Markdown file as a page shows it. */
export interface RenderedText {
  /** The text of its first heading. */
  readonly title: string;
  readonly html: string;
  /** Its headings of the second level. */
  readonly sections: readonly { readonly id: string; readonly text: string }[];
}

/** How the language of an example is named to readers. What is in none of these is output. */
const LANGUAGES: Readonly<Record<string, string>> = {
  sh: 'curl',
  ts: 'TypeScript',
  'ts client': 'TypeScript, with the client',
  python: 'Python',
};

/**
 * Renders a file of ours: its HTML, if it had any, would be taken as it stands. Headings get the
 * ids that GitHub gives them, so that an anchor is good in both places. Examples that follow each
 * other in several languages become a choice, of which the first is open.
 *
 * @param resolveLink gives the address on the portal of what a link in the file names
 * @param addresses that are links where they stand as code
 */
export function renderMarkdown(
  markdown: string,
  resolveLink: (href: string) => string,
  addresses: readonly string[],
): RenderedText {
  const ids = new Set<string>();
  const sections: { id: string; text: string }[] = [];
  let title = '';
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth }) {
        const text = plainText(tokens);
        const id = headingId(text, ids);
        if (depth === 1) title = text;
        if (depth === 2) sections.push({ id, text });
        return `<h${depth} id="${id}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      link({ href, tokens }) {
        return `<a href="${escapeHtml(resolveLink(href))}">${this.parser.parseInline(tokens)}</a>`;
      },
      codespan({ text }) {
        const code = `<code>${escapeHtml(text)}</code>`;
        return addresses.includes(text) ? `<a href="${text}">${code}</a>` : code;
      },
      image({ href, text }) {
        return `<img src="${escapeHtml(resolveLink(href))}" alt="${escapeHtml(text)}">`;
      },
      table({ header, rows }) {
        const cell = (name: string) => (content: Tokens.TableCell) =>
          `<${name}>${this.parser.parseInline(content.tokens)}</${name.split(' ')[0] ?? ''}>`;
        const body = rows.map((row) => `<tr>${row.map(cell('td')).join('')}</tr>`).join('\n');
        const head = header.map(cell('th scope="col"')).join('');
        return `<div class="table" tabindex="0"><table><thead><tr>${head}</tr></thead><tbody>\n${body}\n</tbody></table></div>\n`;
      },
      code: renderCode,
    },
  });
  const parts = groupExamples(marked.lexer(markdown)).map((part) =>
    Array.isArray(part) ? renderChoice(part, ids) : marked.parser([part]),
  );
  return { title, html: parts.join(''), sections };
}

/** Examples of different languages with nothing between them are gathered; all else stays as it is. */
function groupExamples(tokens: readonly Token[]): (Token | Tokens.Code[])[] {
  const groups: (Token | Tokens.Code[])[] = [];
  for (const token of tokens) {
    if (token.type === 'space') continue;
    const before = groups.at(-1);
    if (!isExample(token)) groups.push(token);
    else if (Array.isArray(before) && before.every(({ lang }) => lang !== token.lang)) before.push(token);
    else groups.push([token]);
  }
  return groups;
}

function isExample(token: Token): token is Tokens.Code {
  return token.type === 'code' && LANGUAGES[String(token.lang)] !== undefined;
}

function renderChoice(examples: readonly Tokens.Code[], ids: Set<string>): string {
  if (examples.length === 1) return examples.map(renderCode).join('');
  // One name for all of them lets a browser keep one open at a time.
  const name = headingId('examples', ids);
  const choices = examples.map(
    (example, index) =>
      `<details name="${name}"${index === 0 ? ' open' : ''}><summary>${LANGUAGES[example.lang ?? ''] ?? ''}</summary>\n${renderCode(example)}</details>\n`,
  );
  return `<div class="examples">\n${choices.join('')}</div>\n`;
}

/** Long lines of a source are scrolled, which has to be possible with the keyboard; those of an output are broken. */
function renderCode({ text, lang = '' }: Tokens.Code): string {
  const start = LANGUAGES[lang] === undefined ? '<pre class="output">' : '<pre class="source" tabindex="0">';
  return `<div class="example">${start}<code>${escapeHtml(text)}</code></pre></div>\n`;
}

function plainText(tokens: readonly Token[]): string {
  return tokens
    .map((token) => {
      const inner = (token as { tokens?: Token[] }).tokens;
      return inner === undefined ? (token as Tokens.Text).text : plainText(inner);
    })
    .join('');
}

/** As GitHub makes it: lower case, hyphens for spaces, nothing but letters, digits, `-` and `_`; numbered where it is taken. */
function headingId(text: string, taken: Set<string>): string {
  const slug = text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-');
  let id = slug;
  for (let number = 1; taken.has(id); number++) id = `${slug}-${number}`;
  taken.add(id);
  return id;
}
