/** The end of the client's API key, as the service announces it. */
export interface KeyExpiry {
  /** The public ID of the key; null if the key is not in the service's format. */
  readonly keyId: string | null;
  /** When the key ends, in UTC. */
  readonly expiresAt: string;
}

// Anything else is not the service's, and could be unsafe to print.
const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

/** Returns a function for the headers of each response to a key, which calls back once for each end that they announce. */
export function watchKeyExpiry(
  apiKey: string,
  onKeyExpiring = (expiry: KeyExpiry): void => console.warn(`partner-data-client: ${keyExpiryText(expiry)}`),
): (headers: Headers) => void {
  const keyId = /^pds_(?:live|test)_([0-9A-Za-z]{8})_/.exec(apiKey)?.[1] ?? null;
  const reported = new Set<string>();
  return (headers) => {
    const expiresAt = headers.get('x-key-expires-at');
    if (expiresAt === null || reported.has(expiresAt) || !TIMESTAMP.test(expiresAt)) return;
    reported.add(expiresAt);
    onKeyExpiring({ keyId, expiresAt });
  };
}

/** One sentence about the end of a key. */
export function keyExpiryText({ keyId, expiresAt }: KeyExpiry): string {
  return `API key${keyId === null ? '' : ` ${keyId}`} ends at ${expiresAt}: change to another key before`;
}
