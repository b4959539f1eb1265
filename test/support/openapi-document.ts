import { readFileSync } from 'node:fs';

/** The parts of JSON Schema that the tests read. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: string[];
  format?: string;
  description?: string;
  pattern?: string;
  maxItems?: number;
  minimum?: number;
  maximum?: number;
  minLength?: number;
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
/** The parts of an OpenAPI document that the tests read. */
export interface OpenApiDocument {
  openapi: string;
  info: { version: string; contact: { name: string; url?: string }; license: object };
  servers: { url: string; description: string }[];
  paths: Record<string, { get: Operation }>;
  components: {
    schemas: Record<string, Schema>;
    responses: Record<string, Required<Omit<Response, '$ref'>>>;
    headers: Record<string, { description?: string; schema: Schema }>;
  };
}

/** The operations by path. */
export function operationsOf({ paths }: OpenApiDocument): [string, Operation][] {
  return Object.entries(paths).map(([path, { get }]) => [path, get]);
}

/** Every schema of the document with its location: components, parameters and headers. */
export function schemasOf(document: OpenApiDocument): [string, Schema][] {
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

/** Reads the OpenAPI document for partners, with the parameters' schema references resolved. */
export function readOpenApiDocument(): OpenApiDocument {
  const text = readFileSync(new URL('../../docs/openapi.json', import.meta.url), 'utf8');
  const document = JSON.parse(text) as OpenApiDocument;
  for (const { get } of Object.values(document.paths)) {
    for (const parameter of get.parameters ?? []) {
      const name = parameter.schema.$ref?.replace('#/components/schemas/', '');
      if (name === undefined) continue;
      const schema = document.components.schemas[name];
      if (schema === undefined) throw new Error(`the OpenAPI document has no schema ${name}`);
      parameter.schema = schema;
    }
  }
  return document;
}

/** Finds the document's path template for a decoded path; null if there is none. Fixed paths take precedence. */
export function templateOf({ paths }: OpenApiDocument, path: string): string | null {
  if (Object.hasOwn(paths, path)) return path.includes('{') ? null : path;
  const templates = Object.keys(paths).filter((template) => template.includes('{id}'));
  return templates.find((template) => isOf(template, path)) ?? null;
}

function isOf(template: string, path: string): boolean {
  const prefix = template.slice(0, -'{id}'.length);
  const id = path.slice(prefix.length);
  return path.startsWith(prefix) && id !== '' && !id.includes('/');
}
