import { Type } from 'typebox';
import { pageOf } from '../http/openapi-responses.ts';
import { filledText, idText } from '../http/openapi-schemas.ts';

/** Schemas shared by several resources. Each `$id` is the schema's name in the OpenAPI document. */
export const namedRef = Type.Object(
  {
    id: idText({ description: 'The id, which filters take.', examples: ['le_city_of_pittsburgh_d85d'] }),
    name: filledText({ description: 'The name, for people.', examples: ['City of Pittsburgh'] }),
  },
  { $id: 'NamedRef', description: 'A lead entity, cooperative or city service.' },
);

export const namedRefPage = pageOf(namedRef, 'A page of lead entities, cooperatives or city services.');

/** Path parameters of a detail route. */
export function idPathSchema(description: string) {
  return Type.Object({ id: Type.String({ minLength: 1, description }) });
}
