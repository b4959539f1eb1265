/* Reading JSON of unknown shape: a value of the wrong type counts as absent. */

export type JsonObject = Record<string, unknown>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Deeper values would exhaust the stack of functions that call themselves; those of OCDS have about ten levels. */
export const MAX_DEPTH = 100;

/** Whether lists and objects are nested more than `levels` deep. */
export function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeperThan(levels - 1, inner));
}

/** The object at a path of keys; empty if there is none. */
export function objectAt(value: unknown, ...path: string[]): JsonObject {
  const found = valueAt(value, ...path);
  return isObject(found) ? found : {};
}

/** The objects of the list at a path of keys; entries of other types are left out. */
export function objectsAt(value: unknown, ...path: string[]): JsonObject[] {
  const found = valueAt(value, ...path);
  return Array.isArray(found) ? found.filter(isObject) : [];
}

/** The text at a path of keys, trimmed; a number as its digits; null if blank or absent. */
export function textAt(value: unknown, ...path: string[]): string | null {
  const found = valueAt(value, ...path);
  const text = typeof found === 'number' ? String(found) : found;
  return typeof text === 'string' && text.trim() !== '' ? text.trim() : null;
}

/** The items without those whose key an earlier one has. */
export function distinctBy<T>(items: readonly T[], keyOf: (item: T) => string): T[] {
  const keys = new Set<string>();
  return items.filter((item) => keys.size < keys.add(keyOf(item)).size);
}

/** The first of several texts that is present. */
export function firstText(...texts: (string | null | undefined)[]): string | null {
  return texts.find((text) => typeof text === 'string') ?? null;
}

function valueAt(value: unknown, ...path: string[]): unknown {
  return path.reduce<unknown>((inner, key) => (isObject(inner) ? inner[key] : undefined), value);
}
