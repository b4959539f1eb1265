import fc from 'fast-check';

/** The maximum length of `q` in code points. */
const MAX_LENGTH = 200;

/** Search text for one of these texts: its words whole, truncated, inflected and decorated, and words it lacks. */
export function freeText(texts: readonly (string | null)[]): fc.Arbitrary<string> {
  const words = texts.flatMap((text) => text?.trim().split(/\s+/) ?? []).filter((word) => word !== '');
  const word = words.length === 0 ? fc.constant('nothing') : fc.constantFrom(...words);
  const phrase = fc
    .tuple(fc.nat(words.length), fc.integer({ min: 2, max: 4 }))
    .map(([start, count]) => words.slice(start, start + count).join(' '));
  const beginning = fc.tuple(word, fc.integer({ min: 1, max: 6 })).map(([text, length]) => firstOf(text, length));
  const inflected = fc
    .tuple(word, fc.constantFrom('s', 'es', 'ed', 'ing', 'ly', 'er', 'ment', "'s", 'ies'), fc.boolean())
    .map(([text, ending, cut]) => (cut ? text.replace(/(e|s|es|ed|ing|y)$/i, '') : text) + ending);
  const several = fc.array(fc.oneof(word, beginning), { minLength: 2, maxLength: 3 }).map((parts) => parts.join(' '));
  const decorated = fc
    .tuple(fc.oneof(word, several), fc.constantFrom(...DECORATIONS))
    .map(([text, decorate]) => decorate(text));
  return fc
    .oneof(
      { weight: 4, arbitrary: word },
      { weight: 3, arbitrary: beginning },
      { weight: 3, arbitrary: inflected },
      { weight: 2, arbitrary: phrase },
      { weight: 2, arbitrary: several },
      { weight: 3, arbitrary: decorated },
      { weight: 1, arbitrary: fc.string({ unit: 'grapheme', maxLength: 12 }) },
      { weight: 1, arbitrary: fc.constantFrom(...ODD) },
    )
    .map((text) => firstOf(text.replaceAll('\0', ' ').normalize('NFC'), MAX_LENGTH));
}

const DECORATIONS: readonly ((text: string) => string)[] = [
  (text) => text.toUpperCase(),
  (text) => `"${text}"`,
  (text) => `${text}*`,
  (text) => `(${text}) OR -x`,
  (text) => `${text} zzzqqq`,
  (text) => `%${text}%`,
  (text) => ` \t${text}\n`,
  (text) => text.normalize('NFD'),
  (text) => text.replaceAll(/[aeiou]/g, (vowel) => `${vowel}\u0301`),
  (text) => text.replaceAll(/\s+/g, '+'),
  (text) => text.replaceAll(/\s+/g, ''),
];

/** Blank, separators only, full-text operators of both engines, and look-alikes. */
const ODD = [
  '',
  '   ',
  '\u3000',
  ...'*** % " \\ \' :* = =suppli title:x and the i ² ½ ﬁ İ ß ss __proto__ zzzqqq'.split(' '),
  '-- %',
  'a & b | !c <-> d',
  'NEAR(a b)',
  '\u0301',
  'a'.repeat(MAX_LENGTH),
];

function firstOf(text: string, codePoints: number): string {
  return Array.from(text).slice(0, codePoints).join('');
}
