import { compareBytewise } from '../../bytewise.ts';
import { hasAllWords, queryWords, Tokenizer } from '../../index/words.ts';
import type { CommandContext } from '../context.ts';
import { renderColumns } from '../process/output.ts';

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
  const shown = found.slice(0, MAX_SHOWN);
  const more = found.length - shown.length;
  const rows = shown.map(({ id, name }) => [id, name]);
  output.result(
    { found: shown, more },
    rows.length === 0 ? [] : [...renderColumns([['ID', 'NAME'], ...rows]), ...(more > 0 ? [`and ${more} more`] : [])],
  );
  if (found.length > 0) return 0;
  if (!output.isJson) {
    output.note(`No ${kind} matches "${text}". Each word must begin a word of the name; try fewer or shorter words.`);
  }
  return 1;
}

function matcherOf(text: string): (record: { id: string; name: string }) => boolean {
  const words = queryWords(text);
  const tokenizer = new Tokenizer();
  return ({ id, name }) => (text !== '' && id.startsWith(text)) || hasAllWords(tokenizer.termsOf([name]), words);
}
