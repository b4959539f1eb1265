import type { FastifyContextConfig } from 'fastify';
import { expect, test } from 'vitest';
import type { Scope } from '../../src/access/scope.ts';
import { PAGE_PARAMETERS } from '../../src/http/request/page-parameters.ts';
import { freeText, type Filters, type Parameters } from '../../src/http/request/parameters.ts';
import { hasWords } from '../../src/index/conditions.ts';
import type { RecordIndex } from '../../src/index/record-index.ts';
import { conditionsOf, words } from '../../src/paging/pages.ts';
import type { RouteServices } from '../../src/services.ts';

type FirstOf<F> = F extends (first: infer First, ...rest: never[]) => unknown ? First : never;

test('a parameter without a condition does not compile', () => {
  const documentedAndParsed = { q: freeText };
  // @ts-expect-error As the filters of a list.
  const filters: Filters = documentedAndParsed;
  // @ts-expect-error As the parameters of any route.
  const config: FastifyContextConfig = { kind: 'contracts', parameters: documentedAndParsed };
  const complete: Parameters = { q: words, ...PAGE_PARAMETERS };
  expect([filters, config, complete]).toHaveLength(3);
});

test('a handler cannot reach the database, nor an index query records, without a snapshot', () => {
  // @ts-expect-error The services of routes have no database.
  const reach = ({ database }: RouteServices): unknown => database;
  const isScopeEnough: Scope extends FirstOf<RecordIndex['find']> ? true : false = false;
  expect([reach, isScopeEnough]).toHaveLength(2);
});

test('only the filters that were given add conditions, in the order of their definition', async () => {
  const filters = { first: words, second: words, third: words };
  const found = await conditionsOf(filters, { third: 'road', first: 'fire safety', limit: 5 })(null as never);
  expect(found).toEqual([...hasWords('fire safety'), ...hasWords('road')]);
});
