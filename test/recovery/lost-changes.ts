import { revokeKey } from '../../src/access/key-admin.ts';
import { setPartner } from '../../src/access/partner-admin.ts';
import { openForCommands, type OpenDatabase } from '../../src/database/database.ts';
import type { Clock } from '../../src/instant.ts';
import { contract, publishLines } from '../support/publishing.ts';

/** Makes changes directly on a PostgreSQL database, whatever leads a service to it. */
export async function change<T>(url: string, work: (database: OpenDatabase) => Promise<T>): Promise<T> {
  const database = openForCommands({ engine: 'postgres', url });
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

/** The number that each change adds one to. */
export async function readNumber({ kysely }: OpenDatabase): Promise<number> {
  return (await kysely.selectFrom('access.clock').select('version').executeTakeFirstOrThrow()).version;
}

/** Two changes that are to be lost. Gives the timestamp of the release. */
export async function makeLostChanges(database: OpenDatabase, clock: Clock): Promise<string> {
  const published = await publishLines(database, releaseOf('Lost'), { clock });
  await setPartner(database, clock, 'acme', { requestsPerMinute: 1_000_001 });
  return String(published.instant);
}

/** As many changes: another release, and a key that is revoked. Gives the timestamp of the release. */
export async function makeOtherChanges(database: OpenDatabase, revokedKey: string, clock: Clock): Promise<string> {
  const published = await publishLines(database, releaseOf('Other'), { clock });
  await revokeKey(database, clock, revokedKey.slice(9, 17));
  return String(published.instant);
}

/** A contract and a certification of acme's small catalog, named by the release. */
function releaseOf(name: string) {
  return {
    certifications: [{ abbreviation: 'MBE', name: `${name} Enterprise`, type: 'sbe' }],
    contracts: [{ ...contract('ctr_1'), name: `${name} release` }],
  };
}
