import { fileURLToPath } from 'node:url';
import { createClient } from '@hey-api/openapi-ts';

// `npm run client:types`: writes the types of the client from the OpenAPI document. A test compares the two.

const pathOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

await createClient({
  input: pathOf('../docs/openapi.json'),
  // A folder may be named, for whoever compares.
  output: { path: process.argv[2] ?? pathOf('../client/src/generated'), entryFile: false },
  plugins: ['@hey-api/typescript'],
  logs: { level: 'silent', file: false },
});
