import { isObject, type JsonObject } from '../json.ts';
import { ValueError } from '../value-error.ts';

/** Left out of a merged release: they describe the release, not the process. */
const OMITTED = new Set(['id', 'date', 'tag']);

/**
 * Arrays of objects that a later release replaces as a whole: `wholeListMerge` in the schema of OCDS 1.1.5, and lists
 * whose objects have no `id` there.
 */
const REPLACED_LISTS = new Set(['additionalIdentifiers', 'additionalClassifications', 'changes']);

const INCONSISTENT = 'is an object or a list of objects in one release, and something else in another';

/**
 * Merges the releases of one process into one, by the rules of OCDS 1.1
 * (https://standard.open-contracting.org/1.1/en/schema/merging/): objects recursively, arrays of objects by `id`, all
 * else replaced; null removes.
 *
 * @param releases in the order of their dates.
 * @throws ValueError if an earlier and a later release have values at one path that cannot be merged.
 */
export function mergeReleases(releases: readonly JsonObject[]): JsonObject {
  const merged = emptyObject();
  for (const release of releases) {
    const described = Object.entries(release).filter(([key]) => !OMITTED.has(key));
    mergeEntries(merged, described, '');
  }
  return merged;
}

function mergeEntries(target: JsonObject, entries: [string, unknown][], path: string): void {
  for (const [key, value] of entries) {
    const keyPath = path === '' ? key : `${path}.${key}`;
    if (value === null) {
      // Null removes a value; fields below an object are removed one by one.
      if (!isMergeable(key, target[key])) Reflect.deleteProperty(target, key);
    } else if (!isMergeable(key, value)) {
      target[key] = value;
    } else if (Array.isArray(value)) {
      if (value.length > 0) target[key] = mergeList(listOf(target[key], keyPath), value as JsonObject[], keyPath);
    } else {
      const inner = objectOf(target[key], keyPath);
      mergeEntries(inner, Object.entries(value as JsonObject), keyPath);
      if (Object.keys(inner).length > 0) target[key] = inner;
    }
  }
}

/** Objects with an id are merged with the one of the same id; others are added. */
function mergeList(target: JsonObject[], items: readonly JsonObject[], path: string): JsonObject[] {
  const byId = new Map(target.filter((item) => item['id'] !== undefined).map((item) => [item['id'], item]));
  for (const item of items) {
    let known = item['id'] === undefined ? undefined : byId.get(item['id']);
    if (known === undefined) {
      known = emptyObject();
      target.push(known);
      if (item['id'] !== undefined) byId.set(item['id'], known);
    }
    mergeEntries(known, Object.entries(item), path);
  }
  return target;
}

/** Whether a value is merged with an earlier one rather than replacing it. */
function isMergeable(key: string, value: unknown): boolean {
  if (!Array.isArray(value)) return isObject(value);
  // OCDS 1.0 has suppliers without ids, and replaces them as a whole.
  if (key === 'suppliers' && value.some((item) => isObject(item) && item['id'] === undefined)) return false;
  return !REPLACED_LISTS.has(key) && value.every(isObject);
}

function listOf(earlier: unknown, path: string): JsonObject[] {
  if (earlier === undefined) return [];
  if (!Array.isArray(earlier) || !earlier.every(isObject)) throw new ValueError(INCONSISTENT, path);
  return earlier;
}

function objectOf(earlier: unknown, path: string): JsonObject {
  if (earlier === undefined) return emptyObject();
  if (!isObject(earlier)) throw new ValueError(INCONSISTENT, path);
  return earlier;
}

/** Without a prototype, so that a key such as `__proto__` is a key like any other. */
function emptyObject(): JsonObject {
  return Object.create(null) as JsonObject;
}
