import { z } from 'zod';
import type { RequestOptions } from '../../../client/src/index.ts';
import { listLink, renderMatches } from '../answers.ts';
import type { Service } from '../service.ts';
import { limit, readable, type Tool } from '../tool.ts';

/** The reference lists, with the argument that takes their ids, and a list that it filters. */
const KINDS = {
  'lead-entities': ['lead_entity', 'contracts'],
  coops: ['coop', 'contracts'],
  'city-services': ['city_service', 'suppliers'],
  certifications: ['certifications', 'suppliers'],
} as const;

type Kind = keyof typeof KINDS;
const ALL = Object.keys(KINDS) as Kind[];

const input = z.strictObject({
  words: z.string().max(200).describe('Words of the name, or their beginnings; empty for all names'),
  kind: z.enum(ALL).optional().describe('Default: all that the key includes'),
  limit,
});

export const findNames: Tool<typeof input> = {
  name: 'find_names',
  description:
    'Finds lead entities (which issue solicitations and award contracts), cooperatives, city services (what is bought) and certifications of suppliers by words of their names. Searches take their ids.',
  input,
  async call(service, { words, kind, limit: max }, options) {
    const kinds = kind === undefined ? await readable(service, ALL, options) : [kind];
    const names: object[] = [];
    // One after the other: a partner can read only few streams at once.
    for (const one of kinds) names.push(...(await namesWith(service, one, wordsOf(words), options)));
    const summary = [
      `${names.length} names match, of ${kinds.join(', ')}.`,
      names.length > max ? `These are the first ${max}: give more words, or a kind.` : '',
    ];
    return renderMatches(summary, names.slice(0, max), 'pass a value to the argument of its name, in a search.');
  },
};

/** The names that have all words. This reads the lists, since they cannot be searched. */
async function namesWith(service: Service, kind: Kind, words: readonly string[], options: RequestOptions) {
  const [argument, list] = KINDS[kind];
  const names: object[] = [];
  for await (const record of service.client.stream(kind, {}, options)) {
    const value = 'id' in record ? record.id : record.abbreviation;
    const own = wordsOf('id' in record ? record.name : `${record.name} ${value}`);
    if (words.every((word) => own.some((one) => one.startsWith(word))))
      names.push({ kind, [argument]: value, name: record.name, link: listLink(service, list, { [argument]: value }) });
  }
  return names;
}

/** Words without accents, in lower case. */
function wordsOf(text: string): string[] {
  const plain = text.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();
  return plain.match(/[\p{L}\p{N}]+/gu) ?? [];
}
