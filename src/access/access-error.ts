/** What was asked of partners, grants or keys cannot be done. The message, for the operator, says why and what to do. */
export class AccessError extends Error {
  override name = 'AccessError';
}
