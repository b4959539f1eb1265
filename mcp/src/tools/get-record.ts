import { z } from 'zod';
import { recordLink, renderAnswer } from '../answers.ts';
import type { Tool } from '../tool.ts';

/** Characters of a text, and items of a list, that an answer has. */
const MAX_CHARACTERS = 4_000;
const MAX_ITEMS = 20;

const NEXT = {
  contracts: 'search_contracts with the lead_entity or a supplier; get_record with kind "suppliers" for a supplier.',
  solicitations: 'search_solicitations with the lead_entity for others of this issuer.',
  suppliers: 'search_contracts with the id as supplier for its contracts.',
};

const input = z.strictObject({
  kind: z.enum(['contracts', 'solicitations', 'suppliers']).describe('The list that has the record'),
  id: z.string().min(1).describe('The id; of a solicitation, its numeric ref is also accepted'),
  skip: z.int().min(0).default(0).describe(`Of each list, leave out so many: an answer has ${MAX_ITEMS}`),
});

export const getRecord: Tool<typeof input> = {
  name: 'get_record',
  description:
    'Gets all of a contract, solicitation or supplier by its id: suppliers and services of a contract; description, deadlines, NIGP codes, documents, notices and questions of a solicitation; contact and certifications of a supplier.',
  input,
  async call(service, { kind, id, skip }, options) {
    const record = await service.client[kind].get(id, options);
    const cut: string[] = [];
    const part = cutValue(record, '', skip, cut);
    const summary = [
      cut.length === 0 ? 'The whole record.' : `The record, without: ${cut.join('; ')}.`,
      recordLink(service, kind, record.id),
    ];
    return renderAnswer(summary, [part as object], NEXT[kind]);
  },
};

/** Shortens texts and the record's lists. Appends what it left out to `cut`. */
function cutValue(value: unknown, name: string, skip: number, cut: string[]): unknown {
  if (typeof value === 'string' && value.length > MAX_CHARACTERS) {
    cut.push(`${name} after ${MAX_CHARACTERS} of ${value.length} characters`);
    return `${value.slice(0, MAX_CHARACTERS)}…`;
  }
  if (Array.isArray(value) && typeof value[0] === 'object') {
    const items = value.slice(skip, skip + MAX_ITEMS);
    if (skip > 0 || value.length > MAX_ITEMS)
      cut.push(`${name} except ${items.length} items after the first ${skip}, of ${value.length}`);
    return items.map((item) => cutValue(item, `a text of ${name}`, 0, cut));
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, cutValue(one, key, skip, cut)]));
}
