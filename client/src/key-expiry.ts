/** The end of the client's API key, as the service announces it. */
export interface KeyExpiry {
  /** The public ID of the key; null if the key is not in the service's format. */
  readonly keyId: string | null;
  /** When the key ends, in UTC. */
  readonly expiresAt: string;
}

const HEADER = 'x-key-expires-at';

// Anything else is not the service's, and could be unsafe to print.
const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

/** Calls back once for each end that the responses to a key announce. */
export class KeyExpiryNotice {
  readonly #keyId: string | null;
  readonly #onKeyExpiring: (expiry: KeyExpiry) => void;
  readonly #announced = new Set<string>();

  constructor(apiKey: string, onKeyExpiring: (expiry: KeyExpiry) => void = warn) {
    this.#keyId = /^pds_(?:live|test)_([0-9A-Za-z]{8})_/.exec(apiKey)?.[1] ?? null;
    this.#onKeyExpiring = onKeyExpiring;
  }

  /** Call with the headers of each response. */
  note(headers: Headers): void {
    const expiresAt = headers.get(HEADER);
    if (expiresAt === null || this.#announced.has(expiresAt) || !TIMESTAMP.test(expiresAt)) return;
    this.#announced.add(expiresAt);
    this.#onKeyExpiring({ keyId: this.#keyId, expiresAt });
  }
}

/** One sentence about the end of a key. */
export function keyExpiryText({ keyId, expiresAt }: KeyExpiry): string {
  return `API key${keyId === null ? '' : ` ${keyId}`} ends at ${expiresAt}: change to another key before`;
}

function warn(expiry: KeyExpiry): void {
  console.warn(`partner-data-client: ${keyExpiryText(expiry)}`);
}
