/*
 * Node's parsed headers drop a repeated header or join its values. Code that must see repetitions reads the raw
 * headers: alternating names and values.
 */

/** Counts the headers with a name, which must be in lower case. */
export function countHeader(rawHeaders: readonly string[], name: string): number {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (isNamed(rawHeaders[at], name)) count += 1;
  }
  return count;
}

/** The value of the only header with a name, which must be in lower case; null if there are none or several. */
export function onlyHeader(rawHeaders: readonly string[], name: string): string | null {
  let value: string | null = null;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (!isNamed(rawHeaders[at], name)) continue;
    if (value !== null) return null;
    value = rawHeaders[at + 1] ?? null;
  }
  return value;
}

// Comparing lengths first rules out most names.
function isNamed(given: string | undefined, name: string): boolean {
  return given?.length === name.length && given.toLowerCase() === name;
}
