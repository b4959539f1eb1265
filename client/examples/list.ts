// Iterate over every record that matches a filter. Pages are fetched as you read.
import { createClient } from 'partner-data-client';

const { PARTNER_DATA_URL: baseUrl = 'http://127.0.0.1:8080', PARTNER_DATA_KEY: apiKey = '' } = process.env;
const client = createClient({ baseUrl, apiKey });

// Larger pages mean fewer requests: the default is 25 records per page, the maximum 100.
for await (const contract of client.contracts.list({ q: 'asphalt', limit: 100 })) {
  console.log(contract.id, contract.name, contract.suppliers.map(({ name }) => name).join('; '));
}
