import { Type } from 'typebox';

export const certification = Type.Object(
  {
    name: Type.String({ examples: ['Minority Business Enterprise'] }),
    type: Type.Enum(['sbe', 'technical'], {
      description: '`sbe`: small-business and diversity certifications.',
      examples: ['sbe'],
    }),
    abbreviation: Type.String({ examples: ['MBE'] }),
  },
  {
    $id: 'Certification',
    description: 'A certification that suppliers may hold. Its abbreviation or name is what the supplier filter takes.',
  },
);
