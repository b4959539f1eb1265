import { revokeKey } from '../../src/access/key-admin.ts';
import { setPartner } from '../../src/access/partner-admin.ts';
import type { OpenDatabase } from '../../src/database/database.ts';
import { openForCommands } from '../../src/database/open.ts';
import type { Clock } from '../../src/timestamp.ts';
import { contract, publishLines } from '../support/publishing.ts';

/** Changes a PostgreSQL database directly, bypassing any proxy of the service. */
export async function change<T>(url: string, work: (database: OpenDatabase) => Promise<T>): Promise<T> {
  await using database = openForCommands({ engine: 'postgres', url });
  return await work(database);
}

/** The timestamps of all events. */
export async function readEventTimes({ kysely }: OpenDatabase): Promise<string[]> {
  return (await kysely.selectFrom('access.events').select('at').orderBy('at').execute()).map(({ at }) => at);
}

/** Makes two changes that will be lost. Returns the timestamp of the release. */
export async function makeLostChanges(database: OpenDatabase, clock: Clock): Promise<string> {
  const published = await publishLines(database, releaseOf('Lost'), { clock });
  await setPartner(database, clock, 'acme', { requestsPerMinute: 1_000_001 });
  return String(published.timestamp);
}

/** Makes two other changes: a release, and a revoked key. Returns the timestamp of the release. */
export async function makeOtherChanges(database: OpenDatabase, revokedKey: string, clock: Clock): Promise<string> {
  const published = await publishLines(database, releaseOf('Other'), { clock });
  await revokeKey(database, clock, revokedKey.slice(9, 17));
  return String(published.timestamp);
}

/** A new release of a contract and a certification of the small catalog. */
function releaseOf(name: string) {
  return {
    certifications: [{ abbreviation: 'MBE', name: `${name} Enterprise`, type: 'sbe' }],
    contracts: [{ ...contract('ctr_1'), name: `${name} release` }],
  };
}
