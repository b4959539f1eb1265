import { compareBytewise } from '../../bytewise.ts';
import { objectSchema } from '../../http/openapi/openapi-schemas.ts';
import { STATES } from '../../us-states.ts';
import { abbreviationText, type CertificationRecord } from '../certifications/fields.ts';
import {
  added,
  field,
  filledText,
  idBesideCount,
  nullable,
  orNull,
  servedProperties,
  setOf,
  text,
  TEXT,
  unserved,
  updatedAt,
  type ImportSchema,
} from '../fields.ts';
import { fieldRenderer } from '../rendered-fields.ts';

const state: ImportSchema = {
  ...TEXT,
  enum: [...STATES],
  description: 'must be a USPS two-letter state code in capitals',
};

/** A line of `suppliers.ndjson`, and a supplier as it is served. */
export const supplierFields = {
  id: idBesideCount('The id of the supplier.', 'sup_md_00_061'),
  name: filledText('The name of the supplier.', 'ATS CALL CENTERS, INC.'),
  short_intro: unserved<string | null>(orNull(TEXT)),
  about: unserved<string | null>(orNull(TEXT)),
  states_served: field<string[]>(setOf(state, 'PA', { isSorted: true }), {
    type: 'array',
    items: {
      type: 'string',
      minLength: 2,
      maxLength: 2,
      pattern: '^[A-Z]{2}$',
      description: 'A USPS two-letter state code.',
    },
    maxItems: STATES.size,
    uniqueItems: true,
    description: 'USPS two-letter state codes, alphabetical; empty if no service area is set up.',
    examples: [['MD', 'PA']],
  }),
  certifications: added<string[]>(setOf(TEXT, 'MBE', { isSorted: true }), {
    type: 'array',
    items: abbreviationText('The abbreviation of a certification.'),
    uniqueItems: true,
    description:
      'Abbreviations, small-business and diversity certifications before technical ones. Lists show up to 10; ' +
      'the detail shows all.',
    examples: [['DBE', 'MBE', 'SBE']],
  }),
  city_service_ids: unserved<string[]>(setOf(TEXT, 'cs_1', { isSorted: true })),
  location: nullable(
    text(
      'The location as text for people: usually a city and state code, such as `Glen Burnie, MD`, but it can be any ' +
        'text, or null.',
      'Glen Burnie, MD',
    ),
  ),
  logo: nullable(text('The logo, usually its address; null if there is none.')),
  email: nullable(text('The contact e-mail address; null if there is none.')),
  website: nullable(text('The website; null if there is none.')),
  updated_at: updatedAt('When anything in this record last changed.'),
};

export const embeddedSupplier = objectSchema(servedProperties(supplierFields, 'embedded'), {
  $id: 'EmbeddedSupplier',
  description: 'A supplier in a contract.',
});

export const supplier = objectSchema(servedProperties(supplierFields), { $id: 'Supplier', description: 'A supplier.' });

export const renderSupplier = fieldRenderer(supplierFields);

/** Lists return this many certifications of each type, and more of one type if the other has fewer. */
const PREVIEW_OF_EACH_TYPE = 5;

type HeldCertification = Pick<CertificationRecord, 'abbreviation' | 'type'>;

/** JSON arrays of abbreviations, `sbe` first and alphabetical within each type: `all`, and the `preview` of lists. */
export function renderCertifications(held: readonly HeldCertification[]): { all: string; preview: string } {
  const ofType = (type: HeldCertification['type']): string[] =>
    held.flatMap((each) => (each.type === type ? [each.abbreviation] : [])).sort(compareBytewise);
  const [sbe, technical] = [ofType('sbe'), ofType('technical')];
  const size = 2 * PREVIEW_OF_EACH_TYPE;
  const sbeCount = Math.min(sbe.length, Math.max(PREVIEW_OF_EACH_TYPE, size - technical.length));
  return {
    all: JSON.stringify([...sbe, ...technical]),
    preview: JSON.stringify([...sbe.slice(0, sbeCount), ...technical.slice(0, size - sbeCount)]),
  };
}
