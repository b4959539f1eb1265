import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Lexer, walkTokens, type Token, type Tokens } from 'marked';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Every Markdown file of the project, by its path from the root. */
export const DOCUMENTS: readonly string[] = globSync('**/*.md', {
  cwd: ROOT,
  exclude: (path) => /(^|\/)(node_modules|dist|data)(\/|$)/.test(path),
}).sort();

export interface CodeBlock {
  /** As written after the fence: `sh`, `json`; empty for output. */
  readonly language: string;
  readonly text: string;
}

export function readDocument(file: string): string {
  return readFileSync(`${ROOT}/${file}`, 'utf8');
}

/** All parts of a document, those within others too, in their order. */
export function readTokens(file: string): Token[] {
  const tokens: Token[] = [];
  void walkTokens(Lexer.lex(readDocument(file)), (token) => {
    tokens.push(token);
  });
  return tokens;
}

export function readCodeBlocks(file: string): CodeBlock[] {
  return readTokens(file)
    .filter((token): token is Tokens.Code => token.type === 'code')
    .map(({ lang = '', text }) => ({ language: lang, text }));
}

/** The words of a document that are set as code, outside of blocks. */
export function readCodeSpans(file: string): string[] {
  return readTokens(file)
    .filter((token): token is Tokens.Codespan => token.type === 'codespan')
    .map(({ text }) => text);
}

/** The block of commands that begins with these characters, and the blocks of output that follow it up to the next commands. */
export function findCommands(file: string, start: string): { commands: string; outputs: string[] } {
  const blocks = readCodeBlocks(file);
  const index = blocks.findIndex(({ language, text }) => language === 'sh' && text.startsWith(start));
  const [found, ...rest] = blocks.slice(index);
  if (index === -1 || found === undefined) throw new Error(`${file} has no commands that begin with "${start}"`);
  const next = rest.findIndex(({ language }) => language !== '' && language !== 'json');
  return { commands: found.text, outputs: rest.slice(0, next === -1 ? undefined : next).map(({ text }) => text) };
}
