// Count the solicitations that match a filter, then fetch one with its documents, notices and questions.
import { createClient } from 'partner-data-client';

const { PARTNER_DATA_URL: baseUrl = 'http://127.0.0.1:8080', PARTNER_DATA_KEY: apiKey = '' } = process.env;
const client = createClient({ baseUrl, apiKey });

const filters = { status: 'open', q: 'services' } as const;
console.log(await client.solicitations.count(filters), 'solicitations match');

for await (const { id } of client.solicitations.list({ ...filters, limit: 1 })) {
  const { title, is_open, documents, notices, questions } = await client.solicitations.get(id);
  // `status` stays `open` after the deadline; use `is_open` to tell whether bids are still accepted.
  console.log(`${title}: ${is_open ? 'takes bids' : 'is over'}`);
  console.log(`${documents.length} documents, ${notices.length} notices, ${questions.length} questions`);
  break;
}
