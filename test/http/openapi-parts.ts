/** The parts of JSON Schema that the tests read. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: string[];
  format?: string;
  description?: string;
  pattern?: string;
  maxItems?: number;
  maxLength?: number;
  properties?: Record<string, Schema>;
  items?: Schema;
  allOf?: Schema[];
  oneOf?: Schema[];
  [keyword: string]: unknown;
}
export interface Parameter {
  name: string;
  in: string;
  description?: string;
  schema: Schema;
}
export interface Response {
  $ref?: string;
  description?: string;
  headers?: Record<string, { $ref: string }>;
  content?: Record<string, { schema: Schema }>;
}
export interface Operation {
  operationId: string;
  summary?: string;
  description?: string;
  parameters?: Parameter[];
  responses: Record<string, Response>;
}
export interface Document {
  openapi: string;
  info: { version: string; contact: { name: string; url?: string }; license: object };
  servers: { url: string; description: string }[];
  paths: Record<string, { get?: Operation }>;
  components: {
    schemas: Record<string, Schema>;
    responses: Record<string, Required<Omit<Response, '$ref'>>>;
    headers: Record<string, { description?: string; schema: Schema }>;
  };
}

/** The operations by path. */
export function operationsOf({ paths }: Document): [string, Operation][] {
  return Object.entries(paths).flatMap(([path, { get }]) => (get === undefined ? [] : [[path, get]]));
}

/** Every schema of the document with its location: components, parameters and headers. */
export function schemasOf(document: Document): [string, Schema][] {
  return [
    ...Object.entries(document.components.schemas).flatMap(([name, schema]) => schemasWithin(schema, name)),
    ...Object.entries(document.components.headers).map(([name, { schema }]): [string, Schema] => [name, schema]),
    ...operationsOf(document).flatMap(([path, { parameters = [] }]) =>
      parameters.map(({ name, schema }): [string, Schema] => [`${path} ${name}`, schema]),
    ),
  ];
}

/** A schema and all nested schemas, each with its location. */
export function schemasWithin(schema: Schema, where: string): [string, Schema][] {
  return [
    [where, schema],
    ...Object.entries(schema.properties ?? {}).flatMap(([name, nested]) => schemasWithin(nested, `${where}.${name}`)),
    ...(schema.items === undefined ? [] : schemasWithin(schema.items, `${where}[]`)),
    ...[...(schema.allOf ?? []), ...(schema.oneOf ?? [])].flatMap((nested, index) =>
      schemasWithin(nested, `${where}[${index}]`),
    ),
  ];
}
