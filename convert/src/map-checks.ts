import { isObject, type JsonObject } from './json.ts';
import { InputError } from './input-error.ts';

/** The object in a map file. `name` begins the messages. */
export function parseMapText(text: string, name: string): JsonObject {
  let map: unknown;
  try {
    map = JSON.parse(text);
  } catch (error) {
    throw new InputError(`${name} is not JSON: ${(error as Error).message}`);
  }
  return getObject(map, name);
}

/** @param path the place in the map, which begins the message. */
export function getObject(value: unknown, path: string): JsonObject {
  if (!isObject(value)) throw new InputError(`${path} must be an object`);
  return value;
}

/** The strings at a place in a map that takes one or several; none if it is absent. */
export function getTexts(value: unknown = [], path: string): string[] {
  const texts: unknown[] = [value].flat();
  if (!texts.every((text) => typeof text === 'string')) {
    throw new InputError(`${path} must be a string or a list of strings`);
  }
  return texts;
}

/** @throws InputError if an object has other keys than these. */
export function refuseUnknown(value: JsonObject, accepted: readonly string[], path: string): void {
  const unknown = Object.keys(value).find((key) => !accepted.includes(key));
  if (unknown !== undefined)
    throw new InputError(`${path}: unknown ${JSON.stringify(unknown)}; accepted are ${accepted.join(', ')}`);
}
