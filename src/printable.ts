/**
 * What a terminal takes for a command, and what hides or reorders text: control and format
 * characters, line and paragraph separators, halves of surrogate pairs, and what has no glyph.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** The same without newlines, which JSON has between its values only. */
const UNPRINTABLE_IN_JSON = /(?!\n)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** Nearly all log lines are plain, and testing for that is ten times as fast as replacing. */
const NOT_PLAIN = /[^ -~\n]/;

const SHORT_ESCAPES: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/**
 * Text of unknown origin as one line that is safe to show on a terminal: what is not printable,
 * newlines included, is shown as an escape such as `\n`, `\u001b` or `\u{e0041}`.
 */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (character) => SHORT_ESCAPES[character] ?? escapeOf(character));
}

/** JSON of the same value that is safe to show on a terminal: `JSON.stringify` escapes only the first 32 characters. */
export function printableJson(json: string): string {
  if (!NOT_PLAIN.test(json)) return json;
  return json.replace(UNPRINTABLE_IN_JSON, (character) => character.split('').map(escapeOf).join(''));
}

function escapeOf(character: string): string {
  const hex = (character.codePointAt(0) ?? 0).toString(16).padStart(4, '0');
  return hex.length > 4 ? `\\u{${hex}}` : `\\u${hex}`;
}
