import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compareBytewise } from '../../src/bytewise.ts';
import { ALL, CHANGED, CLOSE_AT, facetTerm, visibleTerm } from '../../src/index/terms.ts';
import { wordsOf, Tokenizer } from '../../src/index/words.ts';
import { hasWords } from '../../src/index/conditions.ts';
import { cutWords } from '../model/words.ts';

const tokenizer = new Tokenizer();

/** Whether `q` matches a record with this text, by the terms alone. */
function finds(q: string, text: string): boolean {
  const terms = tokenizer.termsOf([text]);
  return hasWords(q).every(
    (condition) =>
      condition.terms.some((term) => terms.has(term)) ||
      (condition.ranges ?? []).some(({ from, to }) =>
        [...terms].some((term) => compareBytewise(from, term) <= 0 && compareBytewise(term, to) < 0),
      ),
  );
}

describe('a search', () => {
  test.each([
    ['supplies', 'Office supply'],
    ['supply', 'Office SUPPLIES'],
    ['conc', 'Concrete work'],
    ['ecole', 'École'],
    ['ÉCOLE', 'ecole'],
    ['e\u0301cole', 'École'],
    ['RFP-2024-017', 'RFP-2024-017'],
    ['2024-017', 'RFP-2024-017'],
    ['fire', 'ﬁre safety'],
    ['istanbul', 'İstanbul'],
    ['STRASSE', 'Straße'],
    ['straße', 'STRASSE'],
    ['STRAẞE', 'Straße'],
    ['οδος', 'ΟΔΟΣ'],
    ['ΟΔΌΣ', 'οδός'],
    ['οδοσ', 'Οδός'],
    ['IŞIK', 'ışık'],
    ['isik', 'ışık'],
    ['ısparta', 'Isparta'],
    ['電', '電気工事'],
    ['100%', '100 percent'],
    ['"fire" AND (safety)*', 'Fire and safety'],
  ])('for %j finds %j', (q, text) => {
    expect(finds(q, text)).toBe(true);
  });

  test.each([
    ['crete', 'Concrete'],
    ['fire water', 'Fire safety'],
    ['%', '100%'],
    ['*', 'anything'],
    ['=concret', 'nothing of it'],
    ['suppl1', 'supply'],
  ])('for %j does not find %j', (q, text) => {
    expect(finds(q, text)).toBe(false);
  });

  test('finds a text by any prefix of any of its words', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 40 }), fc.nat(), fc.nat(), (text, which, length) => {
        const words = wordsOf(text);
        const word = words[which % Math.max(words.length, 1)];
        if (word === undefined) return true;
        const characters = Array.from(word);
        return finds(characters.slice(0, 1 + (length % characters.length)).join(''), text);
      }),
    );
  });

  test('splits text into the same words in every normalization form', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 40 }), (text) => {
        const words = wordsOf(text);
        for (const form of ['NFC', 'NFD', 'NFKC', 'NFKD']) expect(wordsOf(text.normalize(form))).toEqual(words);
        expect(wordsOf(words.join(' '))).toEqual(words);
      }),
    );
  });

  test('limits the terms of one record to what an index row can hold', () => {
    const text = Array.from({ length: 200_000 }, (_, index) => `word${index}`).join(' ');
    const terms = [...tokenizer.termsOf([text, 'x'.repeat(100_000)])];
    const bytes = terms.reduce((sum, term) => sum + Buffer.byteLength(term), 0);
    expect(bytes).toBeLessThan(450_000);
    const longest = [...tokenizer.termsOf(['é'.repeat(5_000)])].map((term) => Buffer.byteLength(term));
    expect(Math.max(...longest)).toBeLessThan(2_046);
  });

  test('returns the same terms for a text, whatever the tokenizer has cached', () => {
    const texts = ['1', '2'].map((part) => Array.from({ length: 30_000 }, (_, index) => `${part}0${index}`).join(' '));
    const shared = new Tokenizer();
    const termsOf = (used: Tokenizer, text: string): string => [...used.termsOf([text])].join(' ');
    const [first, second, again] = [...texts, texts[0] ?? ''].map((text) => termsOf(shared, text));
    expect(again === first).toBe(true);
    expect(second === termsOf(new Tokenizer(), texts[1] ?? '')).toBe(true);
  });

  test.each([
    facetTerm('lead_entity', 'city_a'),
    facetTerm('status', 'open'),
    visibleTerm({ owner: facetTerm('coop', 'co_x'), since: 7 }),
    ALL,
    CHANGED,
    CLOSE_AT,
  ])('never reads %j, which is no word, whatever is asked for', (term) => {
    expect(tokenizer.termsOf([term])).not.toContain(term);
    for (const { terms, ranges = [] } of hasWords(term)) {
      expect(terms).not.toContain(term);
      expect(
        ranges.filter(({ from, to }) => compareBytewise(from, term) <= 0 && compareBytewise(term, to) < 0),
      ).toEqual([]);
    }
  });

  test('distinguishes values of a field that differ in case', () => {
    expect(facetTerm('lead_entity', 'city-A')).not.toBe(facetTerm('lead_entity', 'city-a'));
  });
});

describe('case folding', () => {
  const all = Array.from({ length: 0x110000 }, (_, code) => code)
    .filter((code) => code < 0xd800 || code > 0xdfff)
    .map((code) => String.fromCodePoint(code));
  const cased = all.filter((character) => /\p{L}/u.test(character) && /\p{CWCF}|\p{CWU}|\p{CWL}/u.test(character));
  const folded = (text: string): string => wordsOf(text).join(' ');

  test("is complete by Unicode's definition and idempotent", () => {
    const words = wordsOf(all.join(' '));
    // Unicode folds Cherokee to upper case, which was encoded first; here it is lower case, like everything else.
    expect(words.filter((word) => /[\p{CWCF}--\p{Script=Cherokee}]/v.test(word))).toEqual([]);
    expect(words.length).toBeGreaterThan(100_000);
    expect(wordsOf(words.join(' ')).join(' ') === words.join(' ')).toBe(true);
  });

  test("maps letters that match case-insensitively to the same word, by Unicode's simple folding", () => {
    const letters = cased.join('');
    const apart = cased.flatMap((letter) =>
      (letters.match(new RegExp(letter, 'giu')) ?? [])
        .filter((other) => folded(other) !== folded(letter))
        .map((other) => `${letter} ${other}`),
    );
    expect(cased.length).toBeGreaterThan(2_500);
    expect(apart).toEqual([]);
  });

  // https://www.unicode.org/Public/UCD/latest/ucd/CaseFolding.txt, status F, without combining marks.
  test.each([
    ['ß', 'ss'],
    ['ẞ', 'ss'],
    ['ﬀ', 'ff'],
    ['ﬃ', 'ffi'],
    ['ﬆ', 'st'],
    ['ŉ', 'ʼn'],
    ['ǰ', 'j'],
    ['և', 'եւ'],
    ['ﬓ', 'մն'],
    ['ΐ', 'ι'],
    ['İ', 'i'],
  ])('makes %s into %s', (character, expected) => {
    expect(folded(character)).toBe(expected);
  });

  test('differs from lower-casing and decomposition only where Unicode folds, and for dotless i', () => {
    const lower = (text: string): string =>
      text
        .normalize('NFKD')
        .replace(/\p{M}+/gu, '')
        .toLowerCase();
    const others = cased.filter(
      (letter) => folded(letter) !== (lower(letter).match(/[\p{L}\p{Nd}]+/gu) ?? []).join(' '),
    );
    expect(others.filter((letter) => !/\p{CWCF}/u.test(lower(letter)))).toEqual(['ı']);
  });

  test('agrees with the model for every character at the start, middle and end of a word', () => {
    const text = all
      .filter((character) => /[[\p{L}\p{M}\p{N}]--[\p{Script=Han}\p{Script=Hangul}]]/v.test(character))
      .map((character) => `${character}Σa aΣ${character}aΣ aΣ${character}`)
      .join(' ');
    expect(wordsOf(text).join(' ') === cutWords(text).join(' ')).toBe(true);
    expect(wordsOf(text).length).toBeGreaterThan(30_000);
  });
});
