/** An operation on partners, grants or keys is not possible. The message is for the operator: why, and what to do. */
export class AccessError extends Error {
  override name = 'AccessError';
}
