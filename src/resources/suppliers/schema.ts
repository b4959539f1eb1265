import { Type } from 'typebox';
import { instant, nullable } from '../schemas.ts';

const embeddedFields = {
  id: Type.String({ examples: ['sup_md_00_061'] }),
  name: Type.String({ examples: ['ATS CALL CENTERS, INC.'] }),
  states_served: Type.Array(Type.String({ minLength: 2, maxLength: 2 }), {
    description: 'USPS two-letter state codes, alphabetical; empty where no service area is set up.',
    examples: [['MD', 'PA']],
  }),
  location: nullable(Type.String({ description: 'City and state code.', examples: ['Glen Burnie, MD'] })),
  logo: nullable(Type.String()),
  email: nullable(Type.String()),
  website: nullable(Type.String()),
};

export const embeddedSupplier = Type.Object(embeddedFields, {
  $id: 'EmbeddedSupplier',
  description: 'A supplier as contracts show it.',
});

export const supplier = Type.Object(
  {
    ...embeddedFields,
    certifications: Type.Array(Type.String(), {
      description:
        'Abbreviations, small-business and diversity certifications before technical ones. Lists show up to 10; ' +
        'the detail shows all.',
      examples: [['DBE', 'MBE', 'SBE']],
    }),
    updated_at: instant('The last change of anything that is shown here.'),
  },
  { $id: 'Supplier', description: 'A supplier.' },
);
