import { fileURLToPath } from 'node:url';
import { createClient } from '@hey-api/openapi-ts';

// `npm run client:types`: generates the client's types from the OpenAPI document. A test compares the two.

const pathOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

await createClient({
  input: pathOf('../docs/openapi.json'),
  // An optional folder, for the test that compares.
  output: { path: process.argv[2] ?? pathOf('../client/src/generated'), entryFile: false },
  plugins: ['@hey-api/typescript'],
  logs: { level: 'silent', file: false },
});
