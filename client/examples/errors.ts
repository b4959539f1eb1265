// The errors a request can throw, and how to handle each.
import {
  ApiError,
  ConnectionError,
  createClient,
  NotFoundError,
  RateLimitedError,
  TimeoutError,
  UnauthorizedError,
  ValidationFailedError,
} from 'partner-data-client';

const { PARTNER_DATA_URL: baseUrl = 'http://127.0.0.1:8080', PARTNER_DATA_KEY: apiKey = '' } = process.env;
const client = createClient({ baseUrl, apiKey });

async function tryTo(what: Promise<unknown>): Promise<void> {
  try {
    await what;
  } catch (error) {
    if (error instanceof NotFoundError) console.log('take it out of your copy:', error.message);
    else if (error instanceof ValidationFailedError) console.log('correct the request:', error.message);
    else if (error instanceof UnauthorizedError) console.log('look at the key:', error.message);
    else if (error instanceof RateLimitedError) console.log(`try again in ${error.retryAfterSeconds} s`);
    else if (error instanceof ApiError) console.log(`${error.status} ${error.code}: quote ${error.requestId}`);
    else if (error instanceof ConnectionError || error instanceof TimeoutError)
      console.log('try later:', error.message);
    else throw error;
  }
}

await tryTo(client.contracts.get('no-such-contract'));
await tryTo(client.contracts.list({ limit: 1_000 }).pages().next());
await tryTo(createClient({ baseUrl, apiKey: 'wrong' }).solicitations.count());
