import { z } from 'zod';
import type { RequestOptions } from '../../client/src/index.ts';
import type { Service } from './service.ts';

/** A tool, described for assistants. */
export interface Tool<Input extends z.ZodObject> {
  readonly name: string;
  readonly description: string;
  readonly input: Input;
  /** Returns the text of the answer. `server.ts` turns errors into answers. */
  call(service: Service, given: z.output<Input>, options: RequestOptions): Promise<string>;
}

/** The arguments contradict each other, or are not from an earlier answer. */
export class ArgumentError extends Error {
  override name = 'ArgumentError';
}

const isTime = (text: string): boolean => /^\d{4}-\d\d-\d\d(T.*Z)?$/.test(text) && !Number.isNaN(Date.parse(text));
const toTimestamp = (text: string): string => new Date(text).toISOString();

/** A date or a time in UTC, as a timestamp. Its description says so: a pattern would be long. */
export const time = z.string().refine(isTime).transform(toTimestamp);

export const limit = z.int().min(1).max(25).default(10).describe('The most records to return');

/** An id, for a filter. */
export const idOf = (what: string) => z.string().min(1).optional().describe(`Id of a ${what}, as in find_names`);

/** The arguments of every search. */
export const SEARCH = {
  words: z.string().max(200).optional().describe('A record has all of these words, or words that begin with them'),
  updated_since: time.optional().describe('Changed since then: a date, or a time such as 2026-11-21T09:00:00Z'),
  limit,
  cursor: z.string().min(1).optional().describe('Of an earlier answer: continues it. Repeat the other arguments'),
};

/** Those kinds that the key includes. */
export async function readable<Kind>({ client }: Service, kinds: readonly Kind[], options: RequestOptions) {
  const included: readonly unknown[] = (await client.key(options)).kinds;
  return kinds.filter((kind) => included.includes(kind));
}
