import { Type } from 'typebox';
import { pageOf } from '../../http/openapi-responses.ts';
import { filledText, idText, timestamp, nullable } from '../../http/openapi-schemas.ts';
import { abbreviationText } from '../certifications/schema.ts';
import { STATES } from './states.ts';

const embeddedFields = {
  id: idText({ description: 'The id of the supplier.', examples: ['sup_md_00_061'] }),
  name: filledText({ description: 'The name of the supplier.', examples: ['ATS CALL CENTERS, INC.'] }),
  states_served: Type.Array(
    Type.String({ minLength: 2, maxLength: 2, pattern: '^[A-Z]{2}$', description: 'A USPS two-letter state code.' }),
    {
      maxItems: STATES.size,
      uniqueItems: true,
      description: 'USPS two-letter state codes, alphabetical; empty if no service area is set up.',
      examples: [['MD', 'PA']],
    },
  ),
  location: nullable(
    Type.String({
      description:
        'Where the supplier is, for people: usually a city and state code, such as `Glen Burnie, MD`, but it can be any ' +
        'text, or null.',
      examples: ['Glen Burnie, MD'],
    }),
  ),
  logo: nullable(Type.String({ description: 'The logo, usually its address; null if there is none.' })),
  email: nullable(Type.String({ description: 'The contact e-mail address; null if there is none.' })),
  website: nullable(Type.String({ description: 'The website; null if there is none.' })),
};

export const embeddedSupplier = Type.Object(embeddedFields, {
  $id: 'EmbeddedSupplier',
  description: 'A supplier as contracts show it.',
});

export const supplier = Type.Object(
  {
    ...embeddedFields,
    certifications: Type.Array(abbreviationText('The abbreviation of a certification.'), {
      uniqueItems: true,
      description:
        'Abbreviations, small-business and diversity certifications before technical ones. Lists show up to 10; ' +
        'the detail shows all.',
      examples: [['DBE', 'MBE', 'SBE']],
    }),
    updated_at: timestamp('The last change of anything that is shown here.'),
  },
  { $id: 'Supplier', description: 'A supplier.' },
);

export const supplierPage = pageOf(supplier, 'A page of suppliers.');
