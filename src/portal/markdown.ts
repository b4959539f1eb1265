import { Marked, type Token, type Tokens } from 'marked';
import { escapeHtml } from './html.ts';

/** A rendered Markdown file. */
export interface RenderedText {
  /** The text of its first heading. */
  readonly title: string;
  readonly html: string;
  /** Its second-level headings. */
  readonly sections: readonly { readonly id: string; readonly text: string }[];
}

/** Display names of example languages. Code in any other language is output. */
const LANGUAGES: Readonly<Record<string, string>> = {
  sh: 'curl',
  ts: 'TypeScript',
  'ts client': 'TypeScript, with the client',
  python: 'Python',
};

/**
 * Renders a Markdown file of ours. Raw HTML is passed through, so the file must be trusted. Headings get the same IDs
 * as on GitHub, so anchors work in both places. Consecutive examples in different languages become a choice with the
 * first one open.
 *
 * @param resolveLink maps a link in the file to its URL on the portal
 * @param addresses paths that become links if they appear as code
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

/** Groups consecutive examples in different languages; everything else is unchanged. */
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
  // With a shared name, browsers keep only one open at a time.
  const name = headingId('examples', ids);
  const choices = examples.map(
    (example, index) =>
      `<details name="${name}"${index === 0 ? ' open' : ''}><summary>${LANGUAGES[example.lang ?? ''] ?? ''}</summary>\n${renderCode(example)}</details>\n`,
  );
  return `<div class="examples">\n${choices.join('')}</div>\n`;
}

/** Long lines of source code scroll, which must work with the keyboard; those of output wrap. */
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

/** Generates IDs like GitHub: lower case, hyphens for spaces, only letters, digits, `-` and `_`; numbered if taken. */
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
