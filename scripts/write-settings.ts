import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { SETTINGS, type Setting } from '../src/settings.ts';

// Writes the table of settings into docs/operators/configure.md. A test compares the two.

const BEGIN = '<!-- prettier-ignore-start -->\n<!-- Written by "npm run settings" from src/settings.ts. -->\n\n';
const END = '\n<!-- prettier-ignore-end -->';

const DOCUMENT = fileURLToPath(new URL('../docs/operators/configure.md', import.meta.url));

/** The table of all settings, in Markdown. */
function renderTable(): string {
  const rows = Object.entries<Setting>(SETTINGS).map(([name, setting]) => {
    const byDefault = setting.default === '' ? 'none' : `\`${setting.default}\``;
    // In code spans, since Markdown would make links of the URLs.
    const accepts = setting.accepts
      .replace(/^a whole number from (\d+) to (\d+)$/, '$1 to $2')
      .replace(/[^\s,]+:\/\/[^\s,]*/g, '`$&`');
    return `| \`${name}\` | ${byDefault} | ${setting.description} | ${accepts} |\n`;
  });
  return `| Variable | Default | Sets | Accepts |\n| --- | --- | --- | --- |\n${rows.join('')}`;
}

/**
 * The document with the current table.
 *
 * @throws Error if the document has no place for the table.
 */
export function withCurrentTable(document: string): string {
  const [before, rest] = document.split(BEGIN);
  const [, after] = rest?.split(END) ?? [];
  if (before === undefined || after === undefined)
    throw new Error('docs/operators/configure.md has no table to replace');
  return `${before}${BEGIN}${renderTable()}${END}${after}`;
}

if (import.meta.main) writeFileSync(DOCUMENT, withCurrentTable(readFileSync(DOCUMENT, 'utf8')));
