import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { wordsOf } from '../../src/index/words.ts';
import { Random } from './random.ts';
import { RARE_WORDS, SET_RANKS } from './search-words.ts';
import { ZipfRanks } from './zipf.ts';

const VOCABULARY_SIZE = 30_000;
const SAMPLE_FOLDER = fileURLToPath(new URL('../../sample/', import.meta.url));
const SYLLABLES =
  'ac bel con dor el fra gen hol im jun kar lum mer nor op per qui ral sol tan ul ver wil tec mon'.split(' ');
const ENDINGS = ['', 'a', 'er', 'ing', 'ed', 's', 'ment', 'al', 'ity', 'ix', 'on', 'or'];

/**
 * Builds a vocabulary of 30,000 words, most frequent first: those of the sample's real records by their frequency
 * there, then invented ones.
 */
export function buildVocabulary(): readonly string[] {
  const words = [...readSampleWords(), ...inventWords()];
  const isFree = (word: string): boolean =>
    !SET_RANKS.has(word) && !RARE_WORDS.some((rare) => word.startsWith(rare) || rare.startsWith(word + 's'));
  const vocabulary = [...new Set(words)].filter(isFree);
  for (const [word, rank] of [...SET_RANKS].sort(([, a], [, b]) => a - b)) vocabulary.splice(rank, 0, word);
  return vocabulary.slice(0, VOCABULARY_SIZE);
}

/** Draws words by frequency: the word of rank r with a probability proportional to 1 / (r + 1). */
export class WordSource {
  readonly #words: readonly string[];
  readonly #ranks: ZipfRanks;

  constructor(words = buildVocabulary()) {
    this.#words = words;
    this.#ranks = new ZipfRanks(words.length);
  }

  draw(random: Random): string {
    return this.#words[this.#ranks.draw(random)] ?? '';
  }
}

/** The purely alphabetic words in the sample's free text, most frequent first. */
function readSampleWords(): string[] {
  const counts = new Map<string, number>();
  for (const file of readdirSync(SAMPLE_FOLDER)
    .filter((name) => name.endsWith('.ndjson'))
    .sort()) {
    for (const line of readFileSync(SAMPLE_FOLDER + file, 'utf8').split('\n')) {
      if (line !== '') countWords(JSON.parse(line) as Record<string, unknown>, counts);
    }
  }
  return [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1)).map(([word]) => word);
}

function countWords(record: Record<string, unknown>, counts: Map<string, number>): void {
  for (const field of ['name', 'title', 'summary', 'description', 'about']) {
    const text = record[field];
    if (typeof text !== 'string') continue;
    for (const word of wordsOf(text)) {
      if (/^[a-z]{1,24}$/.test(word)) counts.set(word, (counts.get(word) ?? 0) + 1);
    }
  }
}

function* inventWords(): Generator<string> {
  const random = new Random(30);
  for (let made = 0; made < 3 * VOCABULARY_SIZE; made++) {
    const syllables = Array.from({ length: random.integer(2, 4) }, () => random.pick(SYLLABLES));
    yield syllables.join('') + random.pick(ENDINGS);
  }
}
