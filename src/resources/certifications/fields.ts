import { filledTextSchema, objectSchema, openEnum, refTo } from '../../http/openapi/openapi-schemas.ts';
import { field, oneOf, servedProperties, TEXT, type RecordOf } from '../fields.ts';

/** No commas, and no leading or trailing spaces. */
const ABBREVIATION_PATTERN = '^[^,\\s]([^,]*[^,\\s])?$';

/** In code points. PostgreSQL cannot index much longer text. */
const MAX_ABBREVIATION_LENGTH = 200;

/** An abbreviation, as certifications and suppliers return it. */
export function abbreviationText(description: string) {
  return {
    type: 'string',
    minLength: 1,
    maxLength: MAX_ABBREVIATION_LENGTH,
    pattern: ABBREVIATION_PATTERN,
    description,
    examples: ['MBE'],
  };
}

export const certificationType = openEnum(
  'CertificationType',
  ['sbe', 'technical'],
  'The family of a certification. `sbe`: small-business and diversity certifications.',
);

/** A line of `certifications.ndjson`, and a certification as it is served. */
export const certificationFields = {
  // The supplier filter takes comma-separated names: those that the pattern refuses would be ambiguous there.
  name: field<string>(
    {
      ...TEXT,
      pattern: '^(?![\\s,])(?![\\s\\S]*,\\s*(?:,|$))[\\s\\S]*\\S$',
      description:
        'must be a string that is not blank, has no space at its ends, and something before and after each comma',
    },
    filledTextSchema({ description: 'The full name, unique.', examples: ['Minority Business Enterprise'] }),
  ),
  type: oneOf(['sbe', 'technical'], refTo(certificationType)),
  abbreviation: field<string>(
    {
      ...TEXT,
      maxLength: MAX_ABBREVIATION_LENGTH,
      pattern: ABBREVIATION_PATTERN,
      description:
        'must be a string of at most 200 characters that is not blank, contains no comma, and has no space at its ends',
    },
    abbreviationText('The abbreviation, unique; lists are ordered by it.'),
  ),
};

export type CertificationRecord = RecordOf<typeof certificationFields>;

export const certification = objectSchema(servedProperties(certificationFields), {
  $id: 'Certification',
  description: 'A certification that suppliers can hold. The supplier filter accepts its abbreviation or its name.',
});
