import { readFileSync } from 'node:fs';
import { isObject, type JsonObject } from './json.ts';
import { OperatorError } from '../operator-error.ts';

/** @throws OperatorError if the file cannot be read. */
export function readMapText(path: string): string {
  try {
    return readFileSync(path, 'utf8').replace(/^\uFEFF/, '');
  } catch (error) {
    throw new OperatorError(`${path} cannot be read: ${(error as Error).message}`);
  }
}

/** The object in a map file. `name` begins the messages. */
export function parseMapText(text: string, name: string): JsonObject {
  let map: unknown;
  try {
    map = JSON.parse(text);
  } catch (error) {
    throw new OperatorError(`${name} is not JSON: ${(error as Error).message}`);
  }
  return getObject(map, name);
}

/** @param at the place in the map, which begins the message. */
export function getObject(value: unknown, at: string): JsonObject {
  if (!isObject(value)) throw new OperatorError(`${at} must be an object`);
  return value;
}

/** @throws OperatorError if an object has other keys than these. */
export function refuseUnknown(value: JsonObject, accepted: readonly string[], at: string): void {
  const unknown = Object.keys(value).find((key) => !accepted.includes(key));
  if (unknown !== undefined)
    throw new OperatorError(`${at}: unknown ${JSON.stringify(unknown)}; accepted are ${accepted.join(', ')}`);
}
