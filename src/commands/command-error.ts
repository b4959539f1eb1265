/** The input or the state is wrong. The message is all that the operator sees: it says what is wrong and what to do. */
export class CommandError extends Error {
  override name = 'CommandError';
}
