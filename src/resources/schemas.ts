import { Type } from 'typebox';

/** Shapes that several resources share. Each `$id` is its name in the OpenAPI document. */
export const namedRef = Type.Object(
  {
    id: Type.String({ examples: ['le_city_of_pittsburgh_d85d'] }),
    name: Type.String({ examples: ['City of Pittsburgh'] }),
  },
  { $id: 'NamedRef', description: 'A lead entity, cooperative or city service.' },
);

/** An instant as it is served: UTC with milliseconds. */
export function instant(description: string) {
  return Type.String({ format: 'date-time', description, examples: ['2026-04-15T09:00:00.000Z'] });
}

/** A field that is always present, and may be null. */
export function nullable<T extends ReturnType<typeof Type.String> | ReturnType<typeof Type.Integer>>(schema: T) {
  return { ...schema, type: [schema.type, 'null'] };
}

/** A reference to a schema by its name, as Fastify resolves it. */
export function refTo(name: string) {
  return Type.Ref(`${name}#`);
}

/** The path of a detail. */
export function idPathSchema(description: string) {
  return Type.Object({ id: Type.String({ description }) });
}
