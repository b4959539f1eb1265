import { Type } from 'typebox';
import { pageOf } from '../../http/openapi-responses.ts';
import {
  ABBREVIATION_PATTERN,
  filledText,
  MAX_ABBREVIATION_LENGTH,
  openEnum,
  refTo,
} from '../../http/openapi-schemas.ts';

/** An abbreviation, as certifications and suppliers return it. */
export function abbreviationText(description: string) {
  return Type.String({
    minLength: 1,
    maxLength: MAX_ABBREVIATION_LENGTH,
    pattern: ABBREVIATION_PATTERN,
    description,
    examples: ['MBE'],
  });
}

export const certificationType = openEnum(
  'CertificationType',
  ['sbe', 'technical'],
  'The family of a certification. `sbe`: small-business and diversity certifications.',
);

export const certification = Type.Object(
  {
    name: filledText({ description: 'The full name, unique.', examples: ['Minority Business Enterprise'] }),
    type: refTo(certificationType),
    abbreviation: abbreviationText('The abbreviation, unique; lists are ordered by it.'),
  },
  {
    $id: 'Certification',
    description: 'A certification that suppliers may hold. Its abbreviation or name is what the supplier filter takes.',
  },
);

export const certificationPage = pageOf(certification, 'A page of certifications.');
