import { Type } from 'typebox';
import { pageOf } from '../../http/openapi-responses.ts';
import {
  describedRef,
  filledText,
  idText,
  timestamp,
  nullable,
  nullableRef,
  refTo,
} from '../../http/openapi-schemas.ts';
import { namedRef } from '../schemas.ts';
import { embeddedSupplier } from '../suppliers/schema.ts';

export const contract = Type.Object(
  {
    id: idText({ description: 'The id of the contract.', examples: ['ctr_pa_01e60812_47883'] }),
    name: filledText({ description: 'The name of the contract.', examples: ['MICROSOFT LICENSING'] }),
    summary: nullable(Type.String({ description: 'What the contract is for, in short; null if there is none.' })),
    description: nullable(Type.String({ description: 'What the contract covers; null if there is no description.' })),
    lead_entity: describedRef(namedRef, 'The organization that awarded the contract.'),
    coop: nullableRef(namedRef, 'The cooperative that the contract belongs to; null if it belongs to none.'),
    suppliers: Type.Array(refTo(embeddedSupplier), { description: 'The suppliers on the contract.' }),
    city_services: Type.Array(refTo(namedRef), { description: 'The city services that the contract covers.' }),
    updated_at: timestamp('The last change of anything that is shown here, suppliers and names included.'),
  },
  { $id: 'Contract', description: 'A cooperative purchasing contract.' },
);

export const contractPage = pageOf(contract, 'A page of contracts.');
