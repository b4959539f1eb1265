/** A backup or a restore cannot be done. The message says why, and what to do. */
export class RecoveryError extends Error {
  override name = 'RecoveryError';
}
