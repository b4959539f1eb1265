import { keyField, type Kind } from '../kinds.ts';
import type { Field, Fields, RecordOf } from './fields.ts';

/** Returns the rendered JSON of a record that others embed. */
export type TextOf = (kind: Kind, key: string) => string;

/**
 * Creates the function that renders the stored fields of a record as members of a JSON object, without braces: the
 * `added` fields follow when it is read.
 *
 * @param part those that lists have, or those that only the detail has.
 */
export function fieldRenderer<F extends Fields>(
  fields: F,
  part: 'list' | 'detail only' = 'list',
): (record: RecordOf<F>, textOf?: TextOf) => string {
  const members = storedFields(fields)
    .filter(([, { isOfDetail = false }]) => isOfDetail === (part === 'detail only'))
    .map(([name, { importedAs: key = name, embeds }]) => ({ key, embeds, beginning: `"${name}":` }));
  return (record, textOf) => {
    const values = record as Readonly<Record<string, unknown>>;
    let text = '';
    for (const { key, beginning, embeds } of members) {
      const value = values[key];
      const valueText = embeds === undefined ? JSON.stringify(value) : embeddedText(embeds, value as Embedded, textOf);
      text += `${text === '' ? '' : ','}${beginning}${valueText}`;
    }
    return text;
  };
}

type Embedded = string | readonly string[] | null;

function embeddedText(kind: Kind, keys: Embedded, textOf: TextOf | undefined): string {
  if (textOf === undefined) throw new Error(`no texts of ${kind} were given`);
  if (keys === null) return 'null';
  return typeof keys === 'string' ? textOf(kind, keys) : `[${keys.map((key) => textOf(kind, key)).join(',')}]`;
}

/**
 * Reads the fields that `fieldRenderer` rendered back from the parsed text: as in the import format, and undefined if they
 * were added to the declaration after the text was rendered.
 */
export function readFields(fields: Fields, rendered: object): Record<string, unknown> {
  const values = rendered as Readonly<Record<string, unknown>>;
  return Object.fromEntries(
    storedFields(fields).map(([name, { importedAs = name, embeds }]) => [
      importedAs,
      embeds === undefined ? values[name] : keysOf(embeds, values[name]),
    ]),
  );
}

function keysOf(kind: Kind, embedded: unknown): unknown {
  if (Array.isArray(embedded)) return embedded.map((each) => keysOf(kind, each));
  return (embedded as Readonly<Record<string, unknown>> | null | undefined)?.[keyField(kind)] ?? embedded;
}

function storedFields(fields: Fields): [string, Field][] {
  return Object.entries(fields).filter(([, { served, isAdded = false }]) => served !== null && !isAdded);
}
