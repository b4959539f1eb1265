/** The input, the map or the output directory cannot be used. The message says what is wrong, and what to do. */
export class InputError extends Error {
  override name = 'InputError';
}
