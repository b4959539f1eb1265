import fc from 'fast-check';
import { expect, test } from 'vitest';
import { listServingStatements } from '../../scripts/queries/serving-statements.ts';
import { watchStatements } from '../../scripts/queries/watched-database.ts';
import { questionsAbout } from '../model/questions.ts';
import { createDatabaseOf } from '../support/database.ts';
import { pathOf, startModelledService } from './asking.ts';

/** For each of two partners, of which one sees everything and the other has grants. */
const QUESTIONS_OF_EACH = 300;

test.each(['sqlite', 'postgres'] as const)(
  'every statement that serves the questions of partners on %s is one of docs/queries',
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
        const asked = fc.sample(questionsAbout(started.model, timestamps), { seed: 1, numRuns: QUESTIONS_OF_EACH });
        for (const question of asked) await started.service.get(pathOf(question), { key });
      }
    } finally {
      await started.close();
    }
    expect([...ran.keys()].filter((text) => !listed.has(text))).toEqual([]);
    expect(ran.size).toBeGreaterThan(20);
  },
  120_000,
);
