// The records of a list, page after page, as they are asked for.
import { createClient } from 'partner-data-client';

const { PARTNER_DATA_URL: baseUrl = 'http://127.0.0.1:8080', PARTNER_DATA_KEY: apiKey = '' } = process.env;
const client = createClient({ baseUrl, apiKey });

// Larger pages are fewer requests: 100 records a page is the most, 25 what you get without saying.
for await (const contract of client.contracts.list({ q: 'asphalt', limit: 100 })) {
  console.log(contract.id, contract.name, contract.suppliers.map(({ name }) => name).join('; '));
}
