import fc from 'fast-check';

/** Control sequences, invisible characters, bidirectional overrides and newlines. */
const COMMANDING = [
  ...['\u001b[2J', '\u001b]0;title\u0007', '\u001b]8;;http://x\u001b\\', '\r', '\n', '\r\n', '\t', '\b', '\u007f'],
  ...['\u0085', '\u009b31m', '\u009d', '\u0090', '\u2028', '\u2029', '\u200b', '\u200d', '\u2060', '\ufeff', '\u00ad'],
  ...['\u061c', '\u200e', '\u200f', '\u202a', '\u202e', '\u2066', '\u2069', '\u115f', '\u3164', '\u{e0041}', '\u180e'],
];

/** Text that would control a terminal if printed raw; without NUL, which the importer rejects. */
export const commandingText: fc.Arbitrary<string> = fc
  .array(fc.oneof(fc.constantFrom(...COMMANDING), fc.string({ unit: 'binary', maxLength: 5 }), fc.constant('Zürich')), {
    minLength: 1,
    maxLength: 8,
  })
  .map((parts) => `x${parts.join('').replaceAll('\0', '')}`);

/** The characters of a text that a terminal would not print: control and format characters other than newline. */
export function commandsIn(text: string): string[] {
  const found =
    /(?!\n)[\p{Cc}\u00ad\u061c\u115f\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\u{e0000}-\u{e007f}]/gu;
  return text.match(found) ?? [];
}
