/** A value cannot be mapped; the message continues "field …". */
export class ValueError extends Error {
  override name = 'ValueError';
  /** The path of the field; empty if the code that catches the error names it. */
  readonly field: string;

  constructor(reason: string, field = '') {
    super(reason);
    this.field = field;
  }
}
