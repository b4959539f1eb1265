/** Words whose place among the words by frequency is set, so that searches for them cost what their name says. */
export const COMMON_WORD = 'maintenance';
export const MIDDLE_WORD = 'asphalt';
/** Two words that meet in some of the records that hold either. */
export const TWO_WORDS = 'bridge inspection';

/** Rank by frequency (0 is the most frequent) of the words that are searched for. */
export const SET_RANKS: ReadonlyMap<string, number> = new Map([
  [COMMON_WORD, 28],
  ['inspection', 60],
  ['bridge', 120],
  [MIDDLE_WORD, 420],
]);

/** Each stands in 20 to 50 solicitations, whatever the size of the data. No other word begins with one of them. */
export const RARE_WORDS: readonly string[] = (
  'zamboni quokka xylophone jodhpur kumquat vexillum yurt zeppelin okapi wombat quetzal jacaranda ziggurat umlaut ' +
  'gyroplane kaleidoscope obsidian sextant tourmaline vibraphone walrus yarrow zither narwhal ocelot palimpsest ' +
  'quagmire rhododendron sarsaparilla theremin ukulele vermouth wisteria axolotl bandicoot caravel didgeridoo ' +
  'escutcheon filigree gargoyle'
).split(' ');

/** How many solicitations hold the rare word of this place in the list. */
export function recordsOfRareWord(place: number): number {
  return 20 + ((place * 7) % 31);
}
