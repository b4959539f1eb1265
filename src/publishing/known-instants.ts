import { parseInstant } from '../instant.ts';

/** Each instant of a record is read when it is checked and when it is stored, and many share theirs. */
const MOST_KNOWN = 10_000;
const known = new Map<string, string | null>();

/** As `parseInstant`; remembers what it read last. */
export function parseKnownInstant(text: string): string | null {
  const found = known.get(text);
  if (found !== undefined) return found;
  const instant = parseInstant(text);
  if (known.size >= MOST_KNOWN) known.clear();
  known.set(text, instant);
  return instant;
}
