/**
 * Characters that a terminal could interpret as commands, or that hide or reorder text: control and format characters,
 * line separators, lone surrogates, and invisible characters.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** The same except newlines, which end a line of JSON. */
const UNPRINTABLE_IN_JSON = /(?!\n)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** Renders untrusted text as one line that is safe to print on a terminal, with escapes such as `\u001b`. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (character) => {
    const hex = (character.codePointAt(0) ?? 0).toString(16).padStart(4, '0');
    return hex.length > 4 ? `\\u{${hex}}` : `\\u${hex}`;
  });
}

/** Makes JSON safe to print on a terminal without changing its value. `JSON.stringify` leaves most of these as is. */
export function printableJson(json: string): string {
  const escape = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return json.replace(UNPRINTABLE_IN_JSON, (character) => character.split('').map(escape).join(''));
}
