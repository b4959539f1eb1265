/** Words with a fixed frequency rank, so that the cost of searching for them matches their names. */
export const COMMON_WORD = 'maintenance';
/** Two words that occur together in some of the records that contain either. */
export const TWO_WORDS = 'bridge inspection';

/** The frequency rank of each searched word; 0 is the most frequent. */
export const SET_RANKS: ReadonlyMap<string, number> = new Map([
  [COMMON_WORD, 28],
  ['inspection', 60],
  ['bridge', 120],
  ['asphalt', 420],
]);

/** Each occurs in 20 to 50 solicitations, regardless of the market size. No other word begins with one of them. */
export const RARE_WORDS: readonly string[] = (
  'zamboni quokka xylophone jodhpur kumquat vexillum yurt zeppelin okapi wombat quetzal jacaranda ziggurat umlaut ' +
  'gyroplane kaleidoscope obsidian sextant tourmaline vibraphone walrus yarrow zither narwhal ocelot palimpsest ' +
  'quagmire rhododendron sarsaparilla theremin ukulele vermouth wisteria axolotl bandicoot caravel didgeridoo ' +
  'escutcheon filigree gargoyle'
).split(' ');

/** The number of solicitations that contain the rare word at this index in the list. */
export function recordsOfRareWord(rank: number): number {
  return 20 + ((rank * 7) % 31);
}
