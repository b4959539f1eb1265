import { readFileSync } from 'node:fs';
import { findOpenapiProblems } from './openapi-rules.ts';

// `npm run openapi:lint`, after Redocly: checks both OpenAPI documents with Spectral, OWASP's rules and Scalar's
// validator. Any finding fails.

for (const name of ['openapi.json', 'openapi-3.0.json']) {
  const problems = await findOpenapiProblems(readFileSync(new URL(`../docs/${name}`, import.meta.url), 'utf8'));
  for (const problem of problems) process.stderr.write(`docs/${name}: ${problem}\n`);
  if (problems.length > 0) process.exitCode = 1;
}
