// Cancel a listing after a timeout or on Ctrl-C, then resume it from the last cursor.
import { AbortedError, createClient } from 'partner-data-client';

const { PARTNER_DATA_URL: baseUrl = 'http://127.0.0.1:8080', PARTNER_DATA_KEY: apiKey = '' } = process.env;
const client = createClient({ baseUrl, apiKey });

const interrupted = new AbortController();
process.once('SIGINT', () => interrupted.abort(new Error('Ctrl-C')));
const signal = AbortSignal.any([interrupted.signal, AbortSignal.timeout(60_000)]);

/** The cursor to resume from. It does not expire, so a later run can use it too. */
let cursor: string | undefined;
let contracts = 0;
try {
  for await (const page of client.contracts.list({ limit: 100 }, { signal }).pages()) {
    contracts += page.data.length;
    cursor = page.nextCursor ?? undefined;
    if (contracts >= 500) interrupted.abort(new Error('enough'));
  }
} catch (error) {
  if (!(error instanceof AbortedError)) throw error;
  console.log(`${contracts} contracts before the abort: ${(error.cause as Error).message}`);
}
for await (const contract of client.contracts.list({ cursor })) {
  console.log(`the next one is ${contract.id}`);
  break;
}
