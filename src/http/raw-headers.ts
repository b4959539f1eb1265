/*
 * Node's parsed headers drop a second one of a name, or join the two. Where it matters that
 * there is only one, the headers are looked at as they came: names and values in turn.
 */

/** How many headers have this name, given in lower case. */
export function countHeader(rawHeaders: readonly string[], name: string): number {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (isNamed(rawHeaders[at], name)) count += 1;
  }
  return count;
}

/** The value of the one header of this name, given in lower case; null where there is none, or more than one. */
export function onlyHeader(rawHeaders: readonly string[], name: string): string | null {
  let value: string | null = null;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (!isNamed(rawHeaders[at], name)) continue;
    if (value !== null) return null;
    value = rawHeaders[at + 1] ?? null;
  }
  return value;
}

// Most names differ in their length already.
function isNamed(given: string | undefined, name: string): boolean {
  return given?.length === name.length && given.toLowerCase() === name;
}
