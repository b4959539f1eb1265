import { ABBREVIATION_PATTERN, MAX_ABBREVIATION_LENGTH } from '../../http/openapi/openapi-schemas.ts';
import { object, oneOf, text, type CompletedOf } from '../fields.ts';

/** A line of `certifications.ndjson`. */
export const certificationFields = object({
  abbreviation: {
    ...text,
    maxLength: MAX_ABBREVIATION_LENGTH,
    pattern: ABBREVIATION_PATTERN,
    description:
      'must be a string of at most 200 characters that is not blank, contains no comma, and has no space at its ends',
  },
  // The supplier filter takes comma-separated names: these would be ambiguous there.
  name: {
    ...text,
    pattern: '^(?![\\s,])(?![\\s\\S]*,\\s*(?:,|$))[\\s\\S]*\\S$',
    description:
      'must be a string that is not blank, has no space at its ends, and something before and after each comma',
  },
  type: oneOf(['sbe', 'technical']),
});

/** Validated and completed: every field is present, timestamps are normalized. */
export type CertificationRecord = CompletedOf<typeof certificationFields>;
