import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { findOpenapiProblems } from '../openapi-rules.ts';

interface Operation {
  security?: object[];
  responses: Record<string, object>;
}

/** The rules for partner routes, and how to break each. */
const FAULTS: readonly (readonly [rule: string, path: string, breakIt: (operation: Operation) => void])[] = [
  ['owasp:api2:2023-read-restricted', '/v1/contracts', (operation) => (operation.security = [])],
  [
    'owasp:api4:2023-rate-limit',
    '/v1/coops',
    ({ responses }) => (responses['200'] = { ...responses['200'], headers: {} }),
  ],
  ['owasp:api4:2023-rate-limit-responses-429', '/v1/suppliers', ({ responses }) => delete responses['429']],
  ['owasp:api8:2023-define-error-responses-401', '/v1/solicitations', ({ responses }) => delete responses['401']],
  ['owasp:api8:2023-define-error-responses-500', '/v1/lead-entities', ({ responses }) => delete responses['500']],
];

test('the OpenAPI check reports partner routes that lack security, 401, 429, 500 or limit headers', async () => {
  const text = readFileSync(new URL('../../docs/openapi.json', import.meta.url), 'utf8');
  const document = JSON.parse(text) as { paths: Record<string, { get: Operation }> };
  for (const [, path, breakIt] of FAULTS) {
    const operation = document.paths[path]?.get;
    if (operation === undefined) throw new Error(`the document has no ${path}`);
    breakIt(operation);
  }
  const problems = await findOpenapiProblems(JSON.stringify(document));
  const reported = problems.map((problem) => /^(\S+) at paths\.([^.]+)\./.exec(problem)?.slice(1).join(' ') ?? problem);
  expect([...new Set(reported)].sort()).toEqual(FAULTS.map(([rule, path]) => `${rule} ${path}`));
});
