import { validate } from '@scalar/openapi-parser';
import spectralCore, { type RulesetDefinition } from '@stoplight/spectral-core';
import owasp from '@stoplight/spectral-owasp-ruleset';
import rulesets from '@stoplight/spectral-rulesets';

/** Rules turned off everywhere, each with the reason. */
const RULES_OFF: Readonly<Record<string, string>> = {
  'owasp:api4:2023-array-limit': 'The import sets no limit to the lists inside a record. Pages have maxItems.',
  'owasp:api4:2023-string-limit': 'Free text of the import has no limit. Where there is one, maxLength says it.',
  'owasp:api4:2023-string-restricted': 'Free text has no pattern; other strings declare theirs.',
  'owasp:api8:2023-define-cors-origin': 'Browsers of other origins have no access: an API key is a secret of a server.',
};

const HEALTH = /^paths\.\/health\./;

/** Exceptions to a rule by location, each with the reason. */
const EXCEPTIONS: readonly (readonly [rule: string, place: RegExp, reason: string])[] = [
  ['owasp:api2:2023-read-restricted', HEALTH, 'It needs no key, so that load balancers can request it.'],
  ['owasp:api4:2023-rate-limit', HEALTH, 'It is not limited.'],
  ['owasp:api4:2023-rate-limit', /\.responses\.401\.headers$/, 'A 401 has no partner, and so no limit to report.'],
  ['owasp:api4:2023-rate-limit-responses-429', HEALTH, 'It is not limited.'],
  ['owasp:api8:2023-define-error-responses-401', HEALTH, 'It needs no key.'],
  ['owasp:api8:2023-define-error-responses-500', HEALTH, 'It does nothing that can fail.'],
];

const ruleset: RulesetDefinition = {
  extends: [rulesets.oas as RulesetDefinition, owasp as unknown as RulesetDefinition],
  rules: Object.fromEntries(Object.keys(RULES_OFF).map((rule) => [rule, 'off'])),
};

/**
 * Lints an OpenAPI document with Spectral's rules, OWASP's API security rules and Scalar's validator, and returns the
 * problems without the exceptions.
 *
 * @param text the document as JSON.
 */
export async function findOpenapiProblems(text: string): Promise<string[]> {
  const spectral = new spectralCore.Spectral();
  spectral.setRuleset(ruleset);
  const problems = (await spectral.run(text))
    .map(({ code, path, message }) => ({ rule: String(code), place: path.join('.'), message }))
    .filter(({ rule, place }) => !EXCEPTIONS.some(([excepted, where]) => excepted === rule && where.test(place)))
    .map(({ rule, place, message }) => `${rule} at ${place}: ${message}`);
  const { valid, errors = [] } = await validate(text);
  if (valid) return problems;
  return [...problems, 'Scalar: is not valid', ...errors.map(({ message }) => `Scalar: ${message}`)];
}
