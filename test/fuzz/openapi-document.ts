import { readFileSync } from 'node:fs';

/** A JSON Schema, as far as parameters use it. */
export interface ParameterSchema {
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
  readonly in: 'query' | 'path';
  readonly schema: ParameterSchema;
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

/** As much of an OpenAPI document as the tests go by. */
export interface OpenApiDocument {
  readonly paths: Readonly<Record<string, { readonly get: Operation }>>;
  readonly components: { readonly responses: Readonly<Record<string, ResponseEntry>> };
}

/** The document that partners are given. */
export function readOpenApiDocument(): OpenApiDocument {
  return JSON.parse(readFileSync(new URL('../../docs/openapi.json', import.meta.url), 'utf8')) as OpenApiDocument;
}

/** The path of the document that a decoded path of a request is one of; null for none. Fixed ones come before templates. */
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
