import { Type } from 'typebox';
import { instant, nullable, refTo } from '../schemas.ts';

export const contract = Type.Object(
  {
    id: Type.String({ examples: ['ctr_pa_01e60812_47883'] }),
    name: Type.String({ examples: ['MICROSOFT LICENSING'] }),
    summary: nullable(Type.String()),
    description: nullable(Type.String()),
    lead_entity: refTo('NamedRef'),
    coop: Type.Union([refTo('NamedRef'), Type.Null()]),
    suppliers: Type.Array(refTo('EmbeddedSupplier')),
    city_services: Type.Array(refTo('NamedRef')),
    updated_at: instant('The last change of anything that is shown here, suppliers and names included.'),
  },
  { $id: 'Contract', description: 'A cooperative purchasing contract.' },
);
