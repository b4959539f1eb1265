import fc from 'fast-check';
import { expect, test } from 'vitest';
import { listServingStatements } from '../queries/serving-statements.ts';
import { watchStatements } from '../queries/watched-database.ts';
import { requestsAbout } from '../../test/model/requests.ts';
import { createDatabaseOf } from '../../test/support/database.ts';
import { pathOf, startModelledService } from '../../test/conformance/modelled-service.ts';

/** For each of two partners, of which one sees everything and the other has grants. */
const REQUESTS_PER_PARTNER = 300;

test.each(['sqlite', 'postgres'] as const)(
  "docs/queries lists every statement that partners' requests run on %s",
  async (engine) => {
    const made = await createDatabaseOf(engine);
    const listed = new Set((await listServingStatements(made.database)).map(({ text }) => text));
    await made.drop();
    const ran = new Map<string, string | null>();
    const started = await startModelledService(1, {
      engine,
      watch: (database) => watchStatements(database, (text, name) => ran.set(text, name)),
    });
    try {
      for (const name of ['everything', 'mixed']) {
        const { key } = started.service.partner(name);
        const timestamps = started.service.published.map(({ publishedAt }) => publishedAt);
        const requests = fc.sample(requestsAbout(started.model, timestamps), {
          seed: 1,
          numRuns: REQUESTS_PER_PARTNER,
        });
        for (const request of requests) {
          await started.service.get(pathOf(request), { key });
          const accept = 'application/x-ndjson';
          if (request.type === 'list') await started.service.get(pathOf(request), { key, headers: { accept } });
        }
        await started.service.get('/v1/key', { key });
      }
    } finally {
      await started.close();
    }
    expect([...ran.keys()].filter((text) => !listed.has(text))).toEqual([]);
    expect(ran.size).toBeGreaterThan(20);
  },
  120_000,
);
