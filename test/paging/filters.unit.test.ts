import type { FastifyContextConfig } from 'fastify';
import { expect, test } from 'vitest';
import { PAGE_PARAMETERS } from '../../src/http/request/page-parameters.ts';
import { freeText, type Filters, type Parameters } from '../../src/http/request/parameters.ts';
import { hasWords } from '../../src/index/conditions.ts';
import { conditionsOf, words } from '../../src/paging/pages.ts';

test('a parameter without a condition does not compile', () => {
  const documentedAndParsed = { q: freeText };
  // @ts-expect-error As the filters of a list.
  const filters: Filters = documentedAndParsed;
  // @ts-expect-error As the parameters of any route.
  const config: FastifyContextConfig = { kind: 'contracts', parameters: documentedAndParsed };
  const complete: Parameters = { q: words, ...PAGE_PARAMETERS };
  expect([filters, config, complete]).toHaveLength(3);
});

test('only the filters that were given add conditions, in the order of their definition', async () => {
  const filters = { first: words, second: words, third: words };
  const found = await conditionsOf(filters, { third: 'road', first: 'fire safety', limit: 5 })(null as never);
  expect(found).toEqual([...hasWords('fire safety'), ...hasWords('road')]);
});
