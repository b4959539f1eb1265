import { readFileSync } from 'node:fs';

/** The parts of JSON Schema that parameters use. */
export interface ParameterSchema {
  readonly $ref?: string;
  readonly type?: string;
  readonly format?: string;
  readonly pattern?: string;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
}

export interface ParameterEntry {
  readonly name: string;
  readonly in: 'query' | 'path' | 'header';
  schema: ParameterSchema;
}

export interface ResponseEntry {
  readonly $ref?: string;
  readonly headers?: Readonly<Record<string, object>>;
  readonly content?: Readonly<Record<string, object>>;
}

export interface Operation {
  readonly security?: readonly object[];
  readonly parameters?: readonly ParameterEntry[];
  readonly responses: Readonly<Record<string, ResponseEntry>>;
}

/** The parts of an OpenAPI document that the tests use. */
export interface OpenApiDocument {
  readonly paths: Readonly<Record<string, { readonly get: Operation }>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, ParameterSchema>>;
    readonly responses: Readonly<Record<string, ResponseEntry>>;
  };
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
