import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readSettingsFile } from '../../src/commands/output/settings-file.ts';
import { newFolder } from '../support/new-folder.ts';
import { numberOfRuns } from '../support/runs.ts';

const folder = newFolder();

const file = join(folder, 'settings');

/** The variables in a file with these contents; or the problems, each as `line: problem`. */
function read(contents: string | Uint8Array): Record<string, string> | string[] {
  writeFileSync(file, contents);
  try {
    return Object.fromEntries(readSettingsFile(file));
  } catch (error) {
    return (error as Error).message.split('\n').map((line) => line.replace(`${file}:`, ''));
  }
}

test('a value in single quotes is read as it is written, whatever it contains', () => {
  const value = fc.string({ unit: 'grapheme' }).filter((text) => !/['\p{Cc}]/u.test(text));
  fc.assert(
    fc.property(fc.array(value), (values) => {
      const lines = values.map((text, index) => `PDS_${index}='${text}'`);
      expect(read(lines.join('\n'))).toEqual(Object.fromEntries(values.map((text, index) => [`PDS_${index}`, text])));
    }),
    { numRuns: numberOfRuns({ usually: 100, nightly: 1_000 }) },
  );
});

test('each line is read whole, or refused with its number', () => {
  const piece = fc.constantFrom(
    'a',
    ' ',
    '\t',
    '#',
    '$',
    '\\',
    '\\n',
    '"',
    "'",
    '`',
    '=',
    'export ',
    'é',
    'p://u:p@h/d?a=b',
  );
  const written = fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join(''));
  let accepted = 0;
  fc.assert(
    fc.property(written, (text) => {
      const found = read(`# first\nPDS_X=${text}\nPDS_Y=1`);
      if (Array.isArray(found)) expect(found).toEqual([expect.stringMatching(/^2: expected NAME=VALUE/)]);
      else {
        accepted += 1;
        const { PDS_X: value = '' } = found;
        expect([value, `'${value}'`, `"${value}"`]).toContain(text.trim());
        if (value === text.trim()) expect(value).not.toMatch(/^["'`]/);
        expect(found['PDS_Y']).toBe('1');
      }
    }),
    { numRuns: numberOfRuns({ usually: 300, nightly: 3_000 }) },
  );
  expect(accepted).toBeGreaterThan(0);
});

test.each([
  ['an empty value', 'PDS_X=\nPDS_Y=\n', { PDS_X: '', PDS_Y: '' }],
  ['spaces around a line', '  PDS_X=1\t\n\n \t# PDS_Y=2', { PDS_X: '1' }],
  ['the ends of lines on Windows', 'PDS_X=1\r\nPDS_Y=2\r\n', { PDS_X: '1', PDS_Y: '2' }],
  ['a byte order mark', '\uFEFFPDS_X=1', { PDS_X: '1' }],
  ["other programs' variables", 'NODE_EXTRA_CA_CERTS=/ca.pem', { NODE_EXTRA_CA_CERTS: '/ca.pem' }],
])('%s is accepted', (_, contents, variables) => {
  expect(read(contents)).toEqual(variables);
});

test.each([
  ['text that is not an assignment', 'X=1\n\nsesame\n', ['3: expected NAME=VALUE']],
  ['a colon', 'PDS_PORT: sesame', ['1: expected NAME=VALUE']],
  ['a comment after a value', 'PDS_HOST=sesame # mine\nPDS_PORT=1#', ['1: expected', '2: expected']],
  ['a quote that is not closed', "PDS_HOST='sesame\nPDS_PORT=1", ['1: expected']],
  ['a value of several lines', "PDS_HOST='sesame\nb'\nPDS_PORT=1", ['1: expected', '2: expected']],
  ['text after a quote', "PDS_HOST='sesame'b", ['1: expected']],
  ['an escape that Node replaces', 'PDS_HOST="sesame\\nb"', ['1: expected']],
  ['a space in a name', 'PDS PORT=sesame', ['1: expected']],
  ['export', 'export PDS_PORT=1', ['1: expected']],
  ['a variable that is set twice', 'PDS_PORT=1\nPDS_PORT=2', ['2: PDS_PORT was set above']],
  ['UTF-16, as PowerShell writes', Buffer.from('\uFEFFPDS_PORT=1', 'utf16le'), ['the settings file']],
])('%s is refused, without its text', (_, contents, problems) => {
  expect(read(contents)).toEqual(problems.map((start) => expect.stringMatching(`^${start}`) as string));
  expect(JSON.stringify(read(contents))).not.toContain('sesame');
});
