import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { parseSettingsFile } from '../../src/commands/output/settings-file.ts';
import { numberOfRuns } from '../support/runs.ts';

const folder = mkdtempSync(join(tmpdir(), 'pds-syntax-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const RUNS = numberOfRuns({ usually: 100, nightly: 300 });

/** Pieces on which the programs that read such files differ, between ordinary ones. */
const piece = fc.constantFrom(
  ...[
    'a',
    '8',
    ' ',
    '\t',
    '#',
    '$',
    '$HOME',
    '\\',
    '\\n',
    '"',
    "'",
    '`',
    '=',
    ',',
    ';',
    '&',
    '|',
    '~',
    '*',
    '?',
    '(',
    '<',
  ],
  ...['export ', 'é', '\u00a0', '\u2028', '\r', '\0', '{', '}', '!', '%27', 'postgres://u:p@h/d?a=b'],
);
const written = fc.oneof(
  fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join('')),
  fc.array(piece, { maxLength: 6 }).map((pieces) => `'${pieces.join('')}'`),
  fc.array(piece, { maxLength: 6 }).map((pieces) => `"${pieces.join('')}"`),
);

test('a value that is accepted is the same to a shell and to Node', () => {
  let accepted = 0;
  fc.assert(
    fc.property(written, (value) => {
      // The end of a line on Windows, which a shell takes for a part of the value.
      fc.pre(!value.endsWith('\r'));
      const text = `PDS_X=${value}\n`;
      const { variables, problems } = parseSettingsFile(Buffer.from(text));
      if (problems.length > 0) return;
      accepted += 1;
      const file = join(folder, 'settings');
      writeFileSync(file, text);
      const script = 'set -a; . "$0"; printf %s "$PDS_X"';
      const ofShell = execFileSync('sh', ['-eu', '-c', script, file], { encoding: 'utf8', cwd: folder });
      expect(variables).toEqual([{ name: 'PDS_X', value: ofShell, line: 1 }]);
      expect(parseEnv(text)).toEqual({ PDS_X: ofShell });
    }),
    { numRuns: RUNS },
  );
  expect(accepted).toBeGreaterThan(RUNS / 20);
});

test('every line is read, skipped as a comment or as of another program, or reported with its number', () => {
  const OTHERS = ['', '# PDS_PORT=1', '  ', 'SHOP_KEY="a', 'b"', 'export DEBUG=1 # on', "A.B='x' y", 'SPACES=  '];
  const good = fc.nat(9999).map((port) => `PDS_S${port}=${port}`);
  const bad = fc.constantFrom(
    'PDS_PORT: 80',
    'PDS_PORT',
    '=1',
    'PDS_PORT=1 # one',
    'PDS PORT=1',
    'export PDS_PORT=1',
    'PDS_PORT =1',
    'PDS_PORT= 1',
  );
  fc.assert(
    fc.property(fc.uniqueArray(good), fc.array(bad), fc.boolean(), (settings, broken, isWindows) => {
      const lines = [...OTHERS, ...settings, ...broken];
      const { variables, problems } = parseSettingsFile(Buffer.from(lines.join(isWindows ? '\r\n' : '\n')));
      expect(variables.map(({ name, value, line }) => [`${name}=${value}`, line])).toEqual(
        settings.map((text, index) => [text, OTHERS.length + index + 1]),
      );
      expect(problems.map(({ line }) => line)).toEqual(
        broken.map((_, index) => OTHERS.length + settings.length + index + 1),
      );
    }),
    { numRuns: RUNS },
  );
});

test.each([
  ['text that is not an assignment', 'X=1\n\nsesame\n', 3, 'expected NAME=VALUE'],
  ['a value with a space', 'PDS_HOST=sesame b', 1, "PDS_HOST: write NAME='VALUE' in single quotes"],
  ['a comment after a value', "PDS_HOST='sesame' # mine", 1, 'A comment needs its own line'],
  ['a quote that is not closed', "PDS_HOST='sesame\nPDS_PORT=1", 1, 'every quote closed'],
  ["another program's quote that is not closed", '\nSHOP="sesame\nPDS_PORT=1', 2, 'every quote closed'],
  ["another program's quote after a space", '\nSHOP= "sesame\nPDS_PORT=1', 2, 'every quote closed'],
  ['a value of several lines', "PDS_HOST='sesame\nb'\nPDS_PORT=1", 1, 'in single quotes'],
  ['a value that ends with another kind of space', 'PDS_HOST=sesame\u00a0', 1, 'in single quotes'],
  ['a variable that is set twice', 'PDS_PORT=1\nPDS_PORT=2', 2, 'PDS_PORT is already set in line 1'],
  ['export', 'export PDS_PORT=1', 1, 'without "export"'],
  ['bytes that are not UTF-8', Buffer.from([0x58, 0x3d, 0x31, 0x0a, 0xff]), 2, 'not UTF-8'],
  ['UTF-16, as PowerShell writes', Buffer.from('\uFEFFPDS_PORT=1', 'utf16le'), 1, 'not UTF-8'],
])('%s is reported with its line, and without its text', (_, text, line, problem) => {
  const { problems } = parseSettingsFile(Buffer.from(text));
  expect(problems).toEqual([{ line, problem: expect.stringContaining(problem) as string }]);
  expect(JSON.stringify(problems)).not.toContain('sesame');
});

test('a byte order mark is not part of the first name', () => {
  const { variables } = parseSettingsFile(Buffer.from('\uFEFFPDS_PORT=1'));
  expect(variables).toEqual([{ name: 'PDS_PORT', value: '1', line: 1 }]);
});
