/**
 * Characters that a terminal interprets, or that hide or reorder text: control and format characters, line and
 * paragraph separators, unpaired surrogates, and characters without a glyph.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** Nearly all log lines are plain ASCII, and testing for that is ten times as fast as replacing. */
const NOT_PLAIN = /[^ -~\n]/;

const SHORT_ESCAPES: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/**
 * Untrusted text as one line that is safe to show on a terminal: unprintable characters, newlines included, are shown
 * as escapes such as `\n`, `\u001b` or `\u{e0041}`.
 */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (character) => SHORT_ESCAPES[character] ?? escapeOf(character));
}

/** Equivalent JSON that is safe to show on a terminal: `JSON.stringify` only escapes the first 32 characters. */
export function printableJson(json: string): string {
  if (!NOT_PLAIN.test(json)) return json;
  return json.replace(UNPRINTABLE, (character) => {
    // JSON has newlines only between its values.
    return character === '\n' ? character : character.split('').map(escapeOf).join('');
  });
}

function escapeOf(character: string): string {
  const hex = (character.codePointAt(0) ?? 0).toString(16).padStart(4, '0');
  return hex.length > 4 ? `\\u{${hex}}` : `\\u${hex}`;
}

/** The longest text that `quoted` shows whole. */
export const MAX_QUOTE_LENGTH = 60;

/** Text of a client or an import in quotes, shortened. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > MAX_QUOTE_LENGTH ? `${text.slice(0, MAX_QUOTE_LENGTH)}…` : text);
}

/** Of a database's URL only host, port and path, so no password. */
export function displayUrlOf(url: string): string {
  const { host, pathname } = new URL(url);
  return `${host}${pathname}`;
}
