import { DateError, readTimestamp } from '../dates.ts';
import { textAt } from '../json.ts';
import type { ConversionReport } from '../report.ts';
import type { OcdsOptions } from './options.ts';

/** A field cannot be mapped. */
export class FieldError extends Error {
  override name = 'FieldError';
  readonly field: string;

  constructor(field: string, reason: string) {
    super(reason);
    this.field = field;
  }
}

/** Reads the times of a release under their paths. */
export class Times {
  readonly #zone: string | null;
  readonly #report: ConversionReport;

  constructor({ zone }: OcdsOptions, report: ConversionReport) {
    this.#zone = zone;
    this.#report = report;
  }

  /**
   * The time at a path, in UTC; null if there is none.
   *
   * @throws FieldError
   */
  at(release: unknown, ...path: string[]): string | null {
    const text = textAt(release, ...path);
    return text === null ? null : this.parse(text, path.join('.'));
  }

  /** @throws FieldError */
  parse(text: string, field: string): string {
    try {
      const timestamp = readTimestamp(text, this.#zone);
      if (text.length === '0000-00-00'.length) this.#report.dropped('dates without a time (read as midnight)');
      return timestamp;
    } catch (error) {
      if (error instanceof DateError) throw new FieldError(field, error.message);
      throw error;
    }
  }
}
