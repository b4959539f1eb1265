import { Writable } from 'node:stream';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createOutput, renderColumns } from '../../src/commands/output/output.ts';
import { describeProblem, ProblemList } from '../../src/publishing/problems.ts';
import { printable as printableInMirror, printableJson as jsonInMirror } from '../../client/src/mirror/printable.ts';
import { printable, printableJson } from '../../src/printable.ts';
import { commandingText, commandsIn } from '../support/process/terminal-text.ts';

const linesOf = (output: string): string[] => output.split('\n').slice(0, -1);

/** The output that `write` produces. */
function written(isJson: boolean, write: (output: ReturnType<typeof createOutput>) => void): string {
  const chunks: string[] = [];
  const stream = new Writable({
    write(chunk, _, done) {
      chunks.push(String(chunk));
      done();
    },
  });
  write(createOutput(isJson, stream, stream));
  return chunks.join('');
}

test('a table has one line per row and aligned columns, whatever its cells contain', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(commandingText, commandingText), { minLength: 1 }), (rows) => {
      const text = written(false, (output) => output.result(null, renderColumns(rows)));
      expect(commandsIn(text)).toEqual([]);
      expect(linesOf(text)).toHaveLength(rows.length);
      const width = Math.max(...rows.map(([first]) => printable(first).length));
      expect(linesOf(text).map((line) => line.slice(width, width + 2).trim())).toEqual(rows.map(() => ''));
    }),
  );
});

test('a message that quotes any text is one line', () => {
  fc.assert(
    fc.property(commandingText, (text) => {
      for (const write of ['note', 'done'] as const) {
        const message = written(false, (output) =>
          write === 'note' ? output.note(`error: "${text}"`) : output.done(null, `error: "${text}"`),
        );
        expect(commandsIn(message)).toEqual([]);
        expect(linesOf(message)).toHaveLength(1);
      }
    }),
  );
});

test('JSON output is exact, and contains no control characters', () => {
  fc.assert(
    fc.property(fc.dictionary(commandingText, fc.oneof(commandingText, fc.string({ unit: 'binary' }))), (value) => {
      const text = written(true, (output) => output.result(value, ''));
      expect(commandsIn(text)).toEqual([]);
      expect(JSON.parse(text)).toEqual(value);
      for (const escape of [printableJson, jsonInMirror]) {
        expect(JSON.parse(escape(JSON.stringify(value)))).toEqual(value);
        expect(commandsIn(escape(JSON.stringify(value)))).toEqual([]);
      }
    }),
  );
});

test('a problem of an import is one line, whatever its file, field and reason contain', () => {
  fc.assert(
    fc.property(commandingText, commandingText, commandingText, (file, field, reason) => {
      const problems = new ProblemList();
      problems.add({ file, line: 1, field, reason });
      expect(() => problems.throwIfAny()).toThrow();
      const text = written(false, (output) => output.note([describeProblem({ file, line: 1, field, reason })]));
      expect(commandsIn(text)).toEqual([]);
      expect(linesOf(text)).toHaveLength(1);
    }),
  );
});

test('letters of every script, signs and accents are printed unchanged, also by the mirror', () => {
  for (const text of [
    'Zürich',
    'Île-de-France',
    '東京都',
    'مدينة',
    'עיר',
    'नगर',
    '🏗️'.replace('\ufe0f', ''),
    'a\u0301',
    '→ …',
  ]) {
    expect([printable(text), printableInMirror(text), printableJson(text)]).toEqual([text, text, text]);
  }
});

test("the mirror's messages are one line without control characters", () => {
  fc.assert(
    fc.property(commandingText, (text) => {
      expect(commandsIn(printableInMirror(text))).toEqual([]);
      expect(printableInMirror(text)).not.toContain('\n');
    }),
  );
});
