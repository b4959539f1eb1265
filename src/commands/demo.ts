import { fileURLToPath } from 'node:url';
import { INVENTED_LEAD_ENTITY, inventedSolicitations } from '../../sample/invented.ts';
import type { OpenDatabase } from '../database/database.ts';
import type { Clock } from '../instant.ts';
import { publish, type PublicationReport } from '../publishing/publication.ts';
import { listSources, type Source } from '../publishing/source.ts';

const SAMPLE_DIRECTORY = fileURLToPath(new URL('../../sample', import.meta.url));

/**
 * Fills an empty database with the sample records and a dozen invented solicitations whose
 * deadlines are around today. One that holds a publication is left as it is.
 *
 * @returns null where there was nothing to do.
 */
export async function loadDemo(database: OpenDatabase, clock: Clock): Promise<PublicationReport | null> {
  const published = await database.kysely.selectFrom('catalog.publications').select('number').limit(1).execute();
  if (published.length > 0) return null;
  const sources = (await listSources(SAMPLE_DIRECTORY)).map((source) => {
    if (source.kind === 'lead-entities') return withRecords(source, [INVENTED_LEAD_ENTITY]);
    if (source.kind === 'solicitations') return withRecords(source, inventedSolicitations(clock()));
    return source;
  });
  return publish(database, sources, { clock });
}

/** A source with more records at its end. */
function withRecords(source: Source, records: readonly object[]): Source {
  return {
    ...source,
    open: async function* (onRead) {
      yield* source.open(onRead);
      for (const record of records) yield Buffer.from(`${JSON.stringify(record)}\n`);
    },
  };
}
