import { distance } from 'fastest-levenshtein';

/** Something that an operator refers to by its ID. */
export interface Named {
  readonly id: string;
  /** Null if the catalog no longer contains it. */
  readonly name: string | null;
}

/** A typed text with more errors than one in this many characters is not recognized. */
const CHARACTERS_PER_ERROR = 4;

/** Longer texts are no typing errors. */
const MAX_LENGTH = 200;

/**
 * The one whose ID or name begins with a text, else is nearest to it, ignoring case.
 *
 * @returns null if none is similar.
 */
export function findNearest(text: string, all: readonly Named[]): Named | null {
  const typed = text.trim().toLowerCase();
  if (typed === '' || typed.length > MAX_LENGTH) return null;
  let nearest: Named | null = null;
  let least = Math.max(1, Math.floor(typed.length / CHARACTERS_PER_ERROR)) + 1;
  for (const one of all) {
    for (const candidate of [one.id, one.name ?? one.id]) {
      const known = candidate.toLowerCase();
      if (known.startsWith(typed)) return one;
      // The difference in length is a lower bound, and cheap.
      if (Math.abs(known.length - typed.length) >= least) continue;
      const errors = distance(typed, known);
      if (errors >= least) continue;
      [nearest, least] = [one, errors];
    }
  }
  return nearest;
}
