import { recordChange } from '../database/audit.ts';
import { inTransaction, type Database } from '../database/database.ts';
import { drawInstant } from '../database/series.ts';
import { formatInstant, type Clock } from '../instant.ts';
import { DEMO_KEY, DEMO_KEY_ID } from './demo-key.ts';
import { digestOf } from './keys.ts';
import { findPartnerLike, insertPartner } from './partner-admin.ts';

const DEMO_PARTNER = 'demo';

/**
 * Creates the partner `demo`, which sees everything, with its published key. If a partner of that name exists, nothing
 * is changed: it could be a real one, and a key that everyone knows must not give access to its scope.
 *
 * @returns whether the partner was created.
 */
export function ensureDemoPartner(database: Database, clock: Clock): Promise<boolean> {
  return inTransaction(database, async (transaction) => {
    const instant = await drawInstant(transaction, clock);
    if ((await findPartnerLike(transaction, DEMO_PARTNER)) !== null) return false;
    const partner = await insertPartner(transaction, clock, { name: DEMO_PARTNER, instant, everything: true });
    await transaction.kysely
      .insertInto('access.keys')
      .values({
        id: DEMO_KEY_ID,
        partner_id: partner.id,
        digest: digestOf(DEMO_KEY),
        environment: 'test',
        created_at: formatInstant(clock()),
      })
      .execute();
    await recordChange(transaction, clock, { action: 'key issue', partner: DEMO_PARTNER, keyId: DEMO_KEY_ID });
    return true;
  });
}
