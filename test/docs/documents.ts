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
  /** The info string: `sh`, `json`; empty for output. */
  readonly language: string;
  readonly text: string;
}

export function readDocument(file: string): string {
  return readFileSync(`${ROOT}/${file}`, 'utf8');
}

/** All tokens of a document, including nested ones, in order. */
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

/** Info strings of blocks of commands. */
const SHELLS = new Set(['sh', 'shell', 'bash', 'console', 'zsh']);

/** The texts of a document's blocks of commands. */
export function readCommandBlocks(file: string): string[] {
  return readCodeBlocks(file)
    .filter(({ language }) => SHELLS.has(language.split(' ')[0] ?? ''))
    .map(({ text }) => text);
}

/** The inline code spans of a document. */
export function readCodeSpans(file: string): string[] {
  return readTokens(file)
    .filter((token): token is Tokens.Codespan => token.type === 'codespan')
    .map(({ text }) => text);
}

/** Finds the block of commands that begins with `start`, and the output blocks after it up to the next commands. */
export function findCommands(file: string, start: string): { commands: string; outputs: string[] } {
  const blocks = readCodeBlocks(file);
  const index = blocks.findIndex(({ language, text }) => language === 'sh' && text.startsWith(start));
  const [found, ...rest] = blocks.slice(index);
  if (index === -1 || found === undefined) throw new Error(`${file} has no commands that begin with "${start}"`);
  const next = rest.findIndex(({ language }) => language !== '' && language !== 'json');
  return { commands: found.text, outputs: rest.slice(0, next === -1 ? undefined : next).map(({ text }) => text) };
}

/** Replaces values of the documents, such as ports and folders, by those of a test. */
export function translate(text: string, values: Readonly<Record<string, string>>): string {
  return Object.entries(values).reduce((filled, [written, own]) => filled.replaceAll(written, own), text);
}
