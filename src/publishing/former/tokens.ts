import { stem } from 'porter2';
import type { Engine } from '../../database/database.ts';
import type { SolicitationRow } from '../../database/tables.ts';

/*
 * The tokens of search entries, exactly as version 1.1 writes and queries them. Do not change anything here: they
 * differ from the words of the bitmap index, for example in case folding.
 */

const MAX_WORD_LENGTH = 500;

const MAX_BYTES_OF_A_RECORD = 400_000;

/**
 * The distinct words of these texts, their English stems and, on SQLite, their prefixes of one and three characters.
 */
export function tokensOf(engine: Engine, texts: readonly (string | null)[]): string[] {
  const tokens = new Set<string>();
  let bytes = 0;
  for (const word of texts.flatMap((text) => wordsOf(text ?? ''))) {
    if (tokens.has(word)) continue;
    bytes += 2 * Buffer.byteLength(word);
    if (bytes > MAX_BYTES_OF_A_RECORD) break;
    tokens.add(word);
    const stemmed = /[a-z]/.test(word) ? stem(word) : word;
    if (stemmed !== word) tokens.add(`=${stemmed}`);
    if (engine === 'sqlite') for (const prefix of prefixesOf(word)) tokens.add(`+${prefix}`);
  }
  return [...tokens];
}

/** Full case folding would turn `straße` into `strasse`; version 1.1 searches for `straße`. */
function wordsOf(text: string): string[] {
  // Combining marks are also removed before decomposing: long runs of them take quadratic time.
  const decomposed = text.replace(MARKS, '').normalize('NFKD').replace(MARKS, '');
  return (decomposed.toLowerCase().match(/[\p{L}\p{Nd}]+/gu) ?? []).map((word) =>
    word.length > MAX_WORD_LENGTH ? word.slice(0, MAX_WORD_LENGTH).toWellFormed() : word,
  );
}

const MARKS = /\p{M}+/gu;

function prefixesOf(word: string): string[] {
  const characters = Array.from(word.slice(0, 6)).slice(0, 3);
  return [1, 3].filter((length) => length <= characters.length).map((length) => characters.slice(0, length).join(''));
}

/** The filter terms of a contract. */
export function contractMarks({ lead_entity_id, coop_id }: { lead_entity_id: string; coop_id: string | null }) {
  return [`=l=${hexOf(lead_entity_id)}`, ...(coop_id === null ? [] : [`=c=${hexOf(coop_id)}`])];
}

/**
 * The filter terms of a solicitation: status, lead entity, and every period that contains its deadline, from millennium
 * to day.
 */
export function solicitationMarks(row: Pick<SolicitationRow, 'status' | 'lead_entity_id' | 'close_at'>): string[] {
  const day = row.close_at?.slice(0, 10).replaceAll('-', '') ?? null;
  const periods = day === null ? [] : [1, 2, 3, 4, 6, 8].map((length) => `=d=${day.slice(0, length)}`);
  return [`=s=${row.status}`, `=l=${hexOf(row.lead_entity_id)}`, ...periods];
}

const hexOf = (id: string): string => Buffer.from(id).toString('hex');
