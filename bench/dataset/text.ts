import type { Random } from './random.ts';
import type { WordSource } from './vocabulary.ts';

/** Generates titles, names and descriptions from words drawn by frequency. */
export class TextWriter {
  readonly #random: Random;
  readonly #words: WordSource;

  constructor(random: Random, words: WordSource) {
    this.#random = random;
    this.#words = words;
  }

  /** A title: capitalized words, from `min` to `max` of them. */
  title(min: number, max: number): string {
    const count = this.#random.integer(min, max);
    let text = '';
    for (let index = 0; index < count; index++) text += (index === 0 ? '' : ' ') + capitalized(this.#draw());
    return text;
  }

  /** Sentences with this many words in total. */
  sentences(words: number): string {
    let text = '';
    let untilStop = 0;
    for (let index = 0; index < words; index++) {
      const word = this.#draw();
      if (untilStop === 0) {
        text += (index === 0 ? '' : '. ') + capitalized(word);
        untilStop = this.#random.integer(6, 22);
      } else {
        text += (this.#random.uint32() & 15) === 0 ? `, ${word}` : ` ${word}`;
        untilStop--;
      }
    }
    return `${text}.`;
  }

  #draw(): string {
    return this.#words.draw(this.#random);
  }
}

function capitalized(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
