/** A backup or restore is not possible. The message says why, and what to do. */
export class RecoveryError extends Error {
  override name = 'RecoveryError';
}
