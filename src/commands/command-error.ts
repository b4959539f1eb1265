/** The input or the state is wrong. Operators see only the message: it says what is wrong and what to do. */
export class CommandError extends Error {
  override name = 'CommandError';
}
