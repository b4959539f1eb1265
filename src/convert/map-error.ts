/** A map, or a file that it names, cannot be used; the message names the place and what is accepted. */
export class MapError extends Error {
  override name = 'MapError';
}
