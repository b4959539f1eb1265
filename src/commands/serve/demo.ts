import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { INVENTED_LEAD_ENTITIES } from '../../../sample/invented-subjects.ts';
import { inventedSolicitations } from '../../../sample/invented.ts';
import { DEMO_KEY, DEMO_KEY_ID, digestOf } from '../../access/keys.ts';
import { findPartnerLike, insertPartner } from '../../access/partner-admin.ts';
import { writeAuditEntry } from '../../database/audit.ts';
import { lockLog, readPublishedNumber } from '../../database/event-log.ts';
import { inTransaction, type Database, type OpenDatabase } from '../../database/database.ts';
import { formatTimestamp, type Clock } from '../../timestamp.ts';
import type { Kind } from '../../kinds.ts';
import { publish } from '../../publishing/publish.ts';
import { listSources, type Source } from '../../publishing/read/source.ts';

const SAMPLE_DIRECTORY = fileURLToPath(new URL('../../../sample', import.meta.url));

/**
 * Creates the partner `demo`, and fills an empty database with the sample records and invented solicitations with
 * deadlines around today. On a demo that was filled before, moves only those deadlines, so that it does not age. Leaves
 * any other database as it is. The records come last, so that the next start completes an interrupted one.
 */
export async function loadDemo(database: OpenDatabase, clock: Clock): Promise<void> {
  const isEmpty = (await readPublishedNumber(database)) === 0;
  if (!isEmpty && !(await hasInventedRecords(database))) return;
  if (isEmpty) await ensureDemoPartner(database, clock);
  const invented: Partial<Record<Kind, readonly object[]>> = {
    'lead-entities': INVENTED_LEAD_ENTITIES,
    solicitations: inventedSolicitations(clock()),
  };
  const sources = (await listSources(SAMPLE_DIRECTORY)).flatMap((source) => {
    const records = invented[source.kind];
    if (records === undefined) return isEmpty ? source : [];
    return withRecords(source, records, isEmpty);
  });
  await publish(database, sources, { clock, directory: basename(SAMPLE_DIRECTORY) });
}

async function hasInventedRecords({ kysely }: OpenDatabase): Promise<boolean> {
  const { id } = INVENTED_LEAD_ENTITIES[0];
  return (await kysely.selectFrom('catalog.lead_entities').select('id').where('id', '=', id).execute()).length > 0;
}

/** Appends records to a source's own, or replaces them. */
function withRecords(source: Source, records: readonly object[], withOwn: boolean): Source {
  return {
    ...source,
    open: async function* (onRead) {
      if (withOwn) yield* source.open(onRead);
      for (const record of records) yield Buffer.from(`${JSON.stringify(record)}\n`);
    },
  };
}

const DEMO_PARTNER = 'demo';

/**
 * Creates the partner `demo`, which sees everything, with its published key. Changes nothing and returns false if a
 * partner of that name exists: it could be a real one, and a key that everyone knows must not give access to its scope.
 * The same if the key exists, because its partner was renamed or deleted.
 */
export function ensureDemoPartner(database: Database, clock: Clock): Promise<boolean> {
  return inTransaction(database, async (transaction) => {
    const timestamp = await lockLog(transaction, clock);
    if ((await findPartnerLike(transaction, DEMO_PARTNER)) !== null) return false;
    const { kysely } = transaction;
    const key = await kysely.selectFrom('access.keys').select('id').where('id', '=', DEMO_KEY_ID).executeTakeFirst();
    if (key !== undefined) return false;
    const partnerId = await insertPartner(transaction, clock, { name: DEMO_PARTNER, timestamp, everything: true });
    await kysely
      .insertInto('access.keys')
      .values({
        id: DEMO_KEY_ID,
        partner_id: partnerId,
        digest: digestOf(DEMO_KEY),
        environment: 'test',
        created_at: formatTimestamp(clock()),
      })
      .execute();
    await writeAuditEntry(transaction, clock, { action: 'key issue', partner: DEMO_PARTNER, keyId: DEMO_KEY_ID });
    return true;
  });
}
