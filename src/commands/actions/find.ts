import { compareBytewise } from '../../bytewise.ts';
import { hasAllWords, queryWords, Tokenizer } from '../../index/words.ts';
import type { CommandContext } from '../context.ts';
import { renderColumns } from '../output/output.ts';

const TABLES = { 'lead-entity': 'catalog.lead_entities', coop: 'catalog.coops' } as const;

/** Lines shown; `--json` has no more. */
const MAX_SHOWN = 50;

/**
 * `pds find lead-entity|coop TEXT`: lists ids and names, by name. Matches like `q` of the API, in the name: every word of
 * the text begins one of its words, or has the same stem. Also matches ids that begin with the text.
 *
 * @returns 1 if nothing matches, as `grep` does.
 */
export async function find(
  { database, output }: CommandContext,
  kind: keyof typeof TABLES,
  words: readonly string[],
): Promise<number> {
  const text = words.join(' ');
  const matches = matcherOf(text.trim());
  const all = await database.kysely.selectFrom(TABLES[kind]).select(['id', 'name']).execute();
  const found = all.filter(matches).sort((a, b) => compareBytewise(a.name, b.name) || compareBytewise(a.id, b.id));
  if (found.length === 0) {
    const remark = `No ${kind} matches "${text}". Each word must begin a word of the name; try fewer or shorter words.`;
    output.result({ found, more: 0 }, [], remark);
    return 1;
  }
  const shown = found.slice(0, MAX_SHOWN);
  const more = found.length - shown.length;
  const lines = renderColumns([['ID', 'NAME'], ...shown.map(({ id, name }) => [id, name])]);
  output.result({ found: shown, more }, more > 0 ? [...lines, `and ${more} more`] : lines);
  return 0;
}

function matcherOf(text: string): (record: { id: string; name: string }) => boolean {
  const words = queryWords(text);
  const tokenizer = new Tokenizer();
  return ({ id, name }) => (text !== '' && id.startsWith(text)) || hasAllWords(tokenizer.termsOf([name]), words);
}
