import fc from 'fast-check';

/** Words from procurement, and words that break tokenizers, collations or quoting. */
const WORDS = [
  ...'concrete supplies supply repairing repaired repair services serviced cities city paving paved road roads'.split(
    ' ',
  ),
  ...'running runner generously generation generators vehicles vehicle purchasing purchase studies study'.split(' '),
  ...'RFP-2024-017 2024 017 24/7 A&E HVAC C++ §12 100% ½-inch m² №5 IV Ⅳ 3D'.split(' '),
  ...'École ECOLE école Ünïcode naïve façade ﬁre-ﬁghting oﬃce Straße İstanbul ΟΔΟΣ Ärzte smørrebrød Łódź'.split(' '),
  ...'工事 入札公告 コンクリート ｺﾝｸﾘｰﾄ 한국어 подряд тендеры हिन्दी العربية עברית ไทย 👷‍♀️ 🏗️ O’Neill'.split(' '),
  ...'"quoted" back\\slash per%cent under_score semi;colon star* colon: (paren) <b>bold</b> ==stem '.split(' '),
  'e\u0301cole',
  'tab\tstop',
  'line\nbreak',
  'no\u00a0break',
  'zero\u200bwidth',
  'separator\u2028line',
  'w'.repeat(180),
].filter((word) => word !== '');

const word = fc.constantFrom(...WORDS);

/** A short text that is not blank. */
export const awkwardName = fc.array(word, { minLength: 1, maxLength: 5 }).map((words) => words.join(' '));

/** A longer text, possibly empty. */
export const awkwardText = fc.array(word, { minLength: 0, maxLength: 30 }).map((words) => words.join(' '));

export const state = fc.constantFrom(
  'MD',
  'PA',
  'VA',
  'TX',
  'NV',
  'MO',
  'DC',
  'PR',
  'GU',
  'AE',
  'CA',
  'NY',
  'AK',
  'WY',
);

/** `count` ids of a kind, in both cases, with characters that byte order and dictionary order sort differently. */
export function idsOf(kind: string, count: number): string[] {
  const styles = ['a', 'B', 'b_', '-c', 'Z9', '_d'];
  return Array.from({ length: count }, (_, index) => `gen_${kind}_${styles[index % styles.length] ?? ''}${index}`);
}

/** Up to `max` distinct values, in any order. */
export function someOf<T>(values: readonly T[], max: number): fc.Arbitrary<T[]> {
  return fc.shuffledSubarray([...values], { maxLength: Math.min(max, values.length) });
}

/** Null in one case of five. */
export function either<T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null> {
  return fc.option(value, { freq: 5 });
}

/** A record that omits each `optional` field about one time in ten. */
export function maybe(
  required: Record<string, fc.Arbitrary<unknown>>,
  optional: Record<string, fc.Arbitrary<unknown>>,
): fc.Arbitrary<Record<string, unknown>> {
  const kept = fc.array(fc.nat(9), {
    minLength: Object.keys(optional).length,
    maxLength: Object.keys(optional).length,
  });
  return fc.tuple(fc.record(required), fc.record(optional), kept).map(([always, values, dice]) => ({
    ...always,
    ...Object.fromEntries(Object.entries(values).filter((_, index) => dice[index] !== 0)),
  }));
}
