/** What a terminal takes for a command, and what hides or reorders text: control and format characters, line separators, halves of surrogate pairs, and what has no glyph. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** The same without newlines, which end a line of JSON. */
const UNPRINTABLE_IN_JSON = /(?!\n)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** Text of a service or a file as one line that is safe to show on a terminal: what is not printable is shown as an escape such as `\u001b`. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (character) => {
    const hex = (character.codePointAt(0) ?? 0).toString(16).padStart(4, '0');
    return hex.length > 4 ? `\\u{${hex}}` : `\\u${hex}`;
  });
}

/** JSON of the same value that is safe to show on a terminal: `JSON.stringify` escapes only the first 32 characters. */
export function printableJson(json: string): string {
  return json.replace(UNPRINTABLE_IN_JSON, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}
