import { marked } from 'marked';

/** A program in a guide. */
export interface Example {
  /** The info string of its block: `sh`, `ts`, `ts client`, `python`. */
  readonly language: string;
  readonly code: string;
  /** The output block below it, which consecutive examples share. */
  readonly output: { readonly language: string; readonly text: string } | null;
}

/** `console` is run by client-package.sqlite.test.ts; the others read files of earlier blocks. */
const RUN_ELSEWHERE = ['console', 'sql', 'powerquery', 'r'];

const LANGUAGES = ['sh', 'ts', 'ts client', 'python'];
const OUTPUTS = ['json', 'text'];

/**
 * The examples in a Markdown text, in order.
 *
 * @throws Error if a block is in a language that is neither run nor compared
 */
export function listExamples(markdown: string): Example[] {
  const examples: Example[] = [];
  let pending: Omit<Example, 'output'>[] = [];
  const take = (output: Example['output']): void => {
    examples.push(...pending.map((example) => ({ ...example, output })));
    pending = [];
  };
  for (const token of marked.lexer(markdown)) {
    if (token.type === 'space') continue;
    const language = token.type === 'code' ? String(token.lang) : null;
    const text = token.type === 'code' ? String(token.text) : '';
    if (language !== null && LANGUAGES.includes(language)) pending.push({ language, code: text });
    else if (language !== null && OUTPUTS.includes(language)) take({ language, text });
    else if (language !== null && language !== '' && !RUN_ELSEWHERE.includes(language))
      throw new Error(`nothing runs a block of ${language}`);
    else take(null);
  }
  take(null);
  return examples;
}

/** Replaces values that vary from run to run by placeholders. */
export function maskVolatile(text: string): string {
  return text
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<timestamp>')
    .replaceAll(/"next_cursor":\s*"[^"]+"/g, '"next_cursor": "<cursor>"')
    .replaceAll(/req_[\w-]+/g, '<request id>')
    .replaceAll(/W\/"[\w-]+"/g, '<entity tag>')
    .replaceAll(/r=\d+;t=\d+/g, 'r=<left>;t=<seconds>');
}

/** The lines of an output that are not empty, without the space around them. */
export function linesOf(output: string): string[] {
  return output
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}
