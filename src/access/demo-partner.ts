import { recordChange } from '../database/audit.ts';
import { inTransaction, type Database } from '../database/database.ts';
import { nextCommitTimestamp } from '../database/commit-timestamps.ts';
import { formatTimestamp, type Clock } from '../timestamp.ts';
import { DEMO_KEY, DEMO_KEY_ID, digestOf } from './keys.ts';
import { findPartnerLike, insertPartner } from './partner-admin.ts';

const DEMO_PARTNER = 'demo';

/**
 * Creates the partner `demo`, which sees everything, with its published key. If a partner of that name exists, nothing
 * is changed: it could be a real one, and a key that everyone knows must not give access to its scope. The same if the
 * key exists, because its partner was renamed or deleted.
 *
 * @returns whether the partner was created.
 */
export function ensureDemoPartner(database: Database, clock: Clock): Promise<boolean> {
  return inTransaction(database, async (transaction) => {
    const timestamp = await nextCommitTimestamp(transaction, clock);
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
    await recordChange(transaction, clock, { action: 'key issue', partner: DEMO_PARTNER, keyId: DEMO_KEY_ID });
    return true;
  });
}
