import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { KINDS } from '../../src/kinds.ts';
import { exportCatalog } from '../../src/recovery/export.ts';
import { requestsAbout, type ModelRequest } from '../model/requests.ts';
import type { HttpResponse } from '../support/client.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { newFolder } from '../support/new-folder.ts';
import { numberOfRuns } from '../support/runs.ts';
import type { TestService } from '../support/service.ts';
import { pathOf, PARTNERS, startModelledService, withoutRequestId } from './modelled-service.ts';

const REQUESTS = numberOfRuns({ usually: 400, nightly: 1_000 });
const COMPARED_HEADERS = [
  'content-type',
  'etag',
  'cache-control',
  'vary',
  'x-sync-watermark',
  'link',
  'allow',
  'www-authenticate',
];

/** Invalid requests: their errors must not depend on the engine either. */
const MALFORMED = fc
  .constantFrom(
    '/v1/contracts?limit=0',
    '/v1/contracts?limit=0x10',
    '/v1/contracts?cursor=abc',
    '/v1/suppliers?state=P',
    '/v1/suppliers?certifications=MBE,,SBE',
    '/v1/suppliers?sate=PA',
    '/v1/suppliers?q=%00',
    '/v1/suppliers?q=%ff',
    '/v1/solicitations?status=draft',
    '/v1/solicitations?closing_after=2026-02-30T00:00:00Z',
    '/v1/solicitations/count?limit=5',
    '/v1/contracts/count?cursor=abc',
    '/v1/suppliers/count?state=P',
    '/v1/solicitations?q=a&q=b',
    '/v1/certifications?type=other',
    '/v1/coops?updated_since=2026-01-01T00:00:00Z',
    '/v1/nothing',
    '/v1/contracts/',
    '/v1/contracts/a%2Fb',
    '/v1/contracts/%00',
    '/v1/suppliers/%F0%9F%8F%97',
    '/v1/solicitations/00010001',
    '/v1/solicitations/9223372036854775808',
  )
  .map((path) => ({ path, limits: null }));

/** How a list is requested: as pages, twice as often, or as a stream. */
const FORMAT = fc.constantFrom(null, null, 'ndjson', 'csv');

/** With the same clock and secret, so that timestamps, watermarks and cursors are equal too. */
const start = (engine: 'sqlite' | 'postgres') =>
  forAllTests(() => startModelledService(2, { engine, cursorSecret: 'c0'.repeat(32) }), 180_000);
const [sqlite, postgres] = [start('sqlite'), start('postgres')];

test('SQLite and PostgreSQL return the same pages, streams, counts, records and errors, byte for byte', async () => {
  const timestamps = sqlite.service.published.map(({ publishedAt }) => publishedAt);
  const requests = fc.oneof(
    { weight: 14, arbitrary: fc.tuple(requestsAbout(sqlite.model, timestamps), FORMAT).map(toRequest) },
    { weight: 1, arbitrary: MALFORMED },
  );
  const partner = fc.constantFrom(...PARTNERS.map(({ name }) => name));
  await fc.assert(
    fc.asyncProperty(fc.noBias(requests), partner, async ({ path, limits }, name) => {
      const answers = await answersOf(sqlite.service, name, path, limits);
      expect(answers).toEqual(await answersOf(postgres.service, name, path, limits));
    }),
    { seed: 20_260_416, numRuns: REQUESTS },
  );
}, 180_000);

function toRequest([request, format]: [ModelRequest, string | null]): {
  path: string;
  limits: readonly number[] | null;
} {
  const path = pathOf(request);
  if (request.type !== 'list') return { path, limits: null };
  if (format !== null) return { path: `${path}${path.includes('?') ? '&' : '?'}format=${format}`, limits: null };
  // Short pages of long lists are tested elsewhere.
  return { path, limits: request.limits.map((limit) => Math.max(limit, 30)) };
}

async function answersOf(
  service: TestService,
  partner: string,
  path: string,
  limits: readonly number[] | null,
): Promise<object[]> {
  const { key } = service.partner(partner);
  const responses =
    limits === null ? [await service.get(path, { key })] : await service.listAllPages(path, key, limits);
  return responses.map(comparable);
}

function comparable(response: HttpResponse): object {
  const { 'content-type': type } = response.headers;
  // The entity tag of a stream has the random token of a release.
  const compared = COMPARED_HEADERS.filter((name) => name !== 'etag' || type?.startsWith('application/json'));
  const headers = compared.map((name) => [name, response.headers[name]]);
  return { status: response.status, headers, body: withoutRequestId(response) };
}

test('an export has the same bytes on SQLite and PostgreSQL', async () => {
  const folder = newFolder();
  for (const [index, { service }] of [sqlite, postgres].entries())
    await exportCatalog(service.database, join(folder, String(index)), () => undefined);
  for (const kind of KINDS) {
    const [one, other] = [0, 1].map((index) => readFileSync(join(folder, String(index), `${kind}.ndjson`), 'utf8'));
    expect(one).not.toBe('');
    expect(other, kind).toBe(one);
  }
});
