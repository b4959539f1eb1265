/** A code block of a guide, as HTML. */
export interface Example {
  /** The label of its tab. */
  readonly label: string;
  readonly html: string;
}

/** A code block as Expressive Code renders it, with its language. */
const BLOCK = /<div class="expressive-code">.*?<pre data-language="(\w+)".*?<\/figure><\/div>\s*/gs;

const LABELS: Readonly<Record<string, string>> = { sh: 'curl', ts: 'TypeScript', python: 'Python' };

/** Splits a page, in order, into groups of consecutive examples in different languages and the HTML between them. */
export function groupExamples(page: string): (string | Example[])[] {
  const parts: (string | Example[])[] = [];
  let end = 0;
  for (const { 0: block, 1: language = '', index } of page.matchAll(BLOCK)) {
    const between = page.slice(end, index);
    if (between.trim() !== '') parts.push(between);
    end = index + block.length;
    const label = labelOf(language, block);
    const group = parts.at(-1);
    if (label === undefined) parts.push(block);
    else if (Array.isArray(group) && group.every((other) => other.label !== label)) group.push({ label, html: block });
    else parts.push([{ label, html: block }]);
  }
  parts.push(page.slice(end));
  return parts;
}

/** The label of an example's tab. Blocks in any other language show output. */
function labelOf(language: string, block: string): string | undefined {
  return language === 'ts' && block.includes('partner-data-client') ? 'TypeScript client' : LABELS[language];
}
