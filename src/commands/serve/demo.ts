import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { INVENTED_LEAD_ENTITY, inventedSolicitations } from '../../../sample/invented.ts';
import { ensureDemoPartner } from '../../access/demo-partner.ts';
import type { OpenDatabase } from '../../database/database.ts';
import type { Clock } from '../../timestamp.ts';
import { publish } from '../../publishing/publication.ts';
import { listSources, type Source } from '../../publishing/read/source.ts';

const SAMPLE_DIRECTORY = fileURLToPath(new URL('../../../sample', import.meta.url));

/**
 * Creates the partner `demo`, and fills an empty database with the sample records and a dozen invented solicitations
 * with deadlines around today. Leaves a database with a publication as it is. The records come last, so that the next
 * start completes an interrupted one.
 */
export async function loadDemo(database: OpenDatabase, clock: Clock): Promise<void> {
  const published = await database.kysely.selectFrom('catalog.publications').select('number').limit(1).execute();
  if (published.length > 0) return;
  await ensureDemoPartner(database, clock);
  const sources = (await listSources(SAMPLE_DIRECTORY)).map((source) => {
    if (source.kind === 'lead-entities') return withRecords(source, [INVENTED_LEAD_ENTITY]);
    if (source.kind === 'solicitations') return withRecords(source, inventedSolicitations(clock()));
    return source;
  });
  await publish(database, sources, { clock, directory: basename(SAMPLE_DIRECTORY) });
}

/** Appends records to a source. */
function withRecords(source: Source, records: readonly object[]): Source {
  return {
    ...source,
    open: async function* (onRead) {
      yield* source.open(onRead);
      for (const record of records) yield Buffer.from(`${JSON.stringify(record)}\n`);
    },
  };
}
