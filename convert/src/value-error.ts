/** A value cannot be mapped; the message continues "field …". */
export class ValueError extends Error {
  override name = 'ValueError';
  /** The path of the field; empty if the code that catches the error names it. */
  readonly field: string;
  /** The refused value, as it is in the message; undefined for none. */
  readonly value: string | undefined;

  constructor(reason: string, field = '', value?: string) {
    super(reason);
    this.field = field;
    this.value = value;
  }

  /** A reason that begins with the text, such as `is not a date`. */
  static of(text: string, reason: string, field = ''): ValueError {
    const value = JSON.stringify(text);
    return new ValueError(`${value} ${reason}`, field, value);
  }
}
