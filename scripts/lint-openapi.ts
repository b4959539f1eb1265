import { readFileSync } from 'node:fs';
import { validate } from '@scalar/openapi-parser';
import spectralCore, { type RulesetDefinition } from '@stoplight/spectral-core';
import owasp from '@stoplight/spectral-owasp-ruleset';
import rulesets from '@stoplight/spectral-rulesets';

// `npm run openapi:lint`, after Redocly: checks both OpenAPI documents with Spectral's rules for OpenAPI, OWASP's rules for
// the security of APIs, and Scalar's validator. Anything that they report fails.

/** Rules that do not apply, each with the reason. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  'owasp:api2:2023-read-restricted': 'GET /health alone needs no key, so that load balancers can ask it.',
  'owasp:api4:2023-array-limit': 'The import sets no limit to the lists inside a record. Pages have maxItems.',
  'owasp:api4:2023-rate-limit':
    'A 401 has no partner, and so no limit to report. All other responses have the headers.',
  'owasp:api4:2023-rate-limit-responses-429': 'GET /health alone is not limited.',
  'owasp:api4:2023-string-limit': 'Free text of the import has no limit. Where there is one, maxLength says it.',
  'owasp:api4:2023-string-restricted': 'Free text has no pattern. Where there is one, it is given.',
  'owasp:api8:2023-define-cors-origin': 'Browsers of other origins have no access: an API key is a secret of a server.',
  'owasp:api8:2023-define-error-responses-401': 'GET /health alone needs no key.',
  'owasp:api8:2023-define-error-responses-500': 'GET /health alone does nothing that can fail.',
};

const ruleset: RulesetDefinition = {
  extends: [rulesets.oas as RulesetDefinition, owasp as unknown as RulesetDefinition],
  rules: Object.fromEntries(Object.keys(EXCEPTIONS).map((rule) => [rule, 'off'])),
};
const spectral = new spectralCore.Spectral();
spectral.setRuleset(ruleset);

for (const name of ['openapi.json', 'openapi-3.0.json']) {
  const text = readFileSync(new URL(`../docs/${name}`, import.meta.url), 'utf8');
  const problems = (await spectral.run(text)).map(
    ({ code, path, message }) => `${code} at ${path.join('.')}: ${message}`,
  );
  const { valid, errors = [] } = await validate(text);
  if (!valid) problems.push(...errors.map(({ message }) => `Scalar: ${message}`));
  for (const problem of problems) process.stderr.write(`docs/${name}: ${problem}\n`);
  if (problems.length > 0 || !valid) process.exitCode = 1;
}
