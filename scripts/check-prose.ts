import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import ts from 'typescript';

/*
 * A program: counts habits that make the prose of comments and documents hard to read, and fails if there are too many.
 */

interface Habit {
  readonly name: string;
  readonly pattern: RegExp;
  readonly instead: string;
  /** For each 1,000 words. */
  readonly max: number;
}

const HABITS: readonly Habit[] = [
  { name: 'where', pattern: /\bwhere\b/gi, instead: '"if" or "when", unless it is a place', max: 1 },
  {
    name: 'What … or Who … as a subject',
    pattern: /(?<=^|[.:;]\s)(?:What|Who)\b(?![^.?!]*\?)/gm,
    instead: 'name the subject',
    max: 0.5,
  },
  {
    name: 'stands',
    pattern: /\b(?:stands?|stood)\b(?! for\b|-in\b)/gi,
    instead: '"is", "appears", "is listed"',
    max: 0,
  },
];

/** Constants whose names begin with a superlative. */
const SUPERLATIVE = /\b(?:MOST|LONGEST|LARGEST|LEAST)_[A-Z_]+\b/g;

const IS_WRITTEN_BY_A_PROGRAM = /generated|types\.gen\.ts|^docs\/queries\/|^bench\/RESULTS\.md/;
const LISTED_FILES = 10;

const files = execFileSync('git', ['ls-files', '*.md', '*.ts', '*.js'], { encoding: 'utf8' })
  .split('\n')
  .filter((file) => file !== '' && file !== 'scripts/check-prose.ts' && !IS_WRITTEN_BY_A_PROGRAM.test(file))
  .map((file) => ({ file, text: readFileSync(file, 'utf8') }));

/** Markdown without its code. */
function proseOf(markdown: string): string {
  return markdown.replace(/^```[^]*?^```/gm, '').replace(/`[^`\n]*`/g, '`code`');
}

function commentsOf(code: string): string {
  const scanner = ts.createScanner(ts.ScriptTarget.Latest, false, ts.LanguageVariant.Standard, code);
  const comments: string[] = [];
  for (let token = scanner.scan(); token !== ts.SyntaxKind.EndOfFileToken; token = scanner.scan()) {
    if (token === ts.SyntaxKind.SingleLineCommentTrivia || token === ts.SyntaxKind.MultiLineCommentTrivia) {
      comments.push(scanner.getTokenText().replace(/^\s*(?:\/?\*+\/?|\/\/) ?/gm, ''));
    }
  }
  return comments.join('\n');
}

const prose = files.map(({ file, text }) => ({ file, text: file.endsWith('.md') ? proseOf(text) : commentsOf(text) }));
const words = prose.reduce((sum, { text }) => sum + (text.match(/\S+/g)?.length ?? 0), 0);
const failures: string[] = [];

for (const { name, pattern, instead, max } of HABITS) {
  const counted = prose
    .map(({ file, text }) => ({ file, count: text.match(pattern)?.length ?? 0 }))
    .filter(({ count }) => count > 0)
    .sort((one, other) => other.count - one.count);
  const total = counted.reduce((sum, { count }) => sum + count, 0);
  const rate = (1_000 * total) / words;
  process.stdout.write(`${name}: ${total} in ${words} words, ${rate.toFixed(2)} per 1,000; at most ${max}\n`);
  if (rate > max) {
    const examples = counted.slice(0, LISTED_FILES).map(({ file, count }) => `  ${count} ${file}`);
    failures.push(`Write ${instead}, for "${name}":\n${examples.join('\n')}`);
  }
}

for (const { file, text } of files.filter((one) => /\.[tj]s$/.test(one.file))) {
  const names = new Set(text.match(SUPERLATIVE));
  if (names.size > 0) failures.push(`${file}: begin with MAX_ or MIN_: ${[...names].join(', ')}`);
}

for (const failure of failures) process.stderr.write(`${failure}\n`);
process.exitCode = failures.length > 0 ? 1 : 0;
