import { grant } from '../../src/access/grant-admin.ts';
import { issueKey } from '../../src/access/key-admin.ts';
import { createPartner, setPartner } from '../../src/access/partner-admin.ts';
import type { OpenDatabase } from '../../src/database/database.ts';
import type { Clock } from '../../src/timestamp.ts';
import type { ModelScope } from '../model/model.ts';
import type { Kind } from '../../src/kinds.ts';

/** A partner to create, with its grants. */
export interface PartnerSetup {
  name: string;
  everything?: boolean;
  leadEntities?: readonly string[];
  coops?: readonly string[];
  /** Defaults to all. */
  kinds?: readonly Kind[];
  requestsPerMinute?: number;
  /** Of its key; defaults to `test`. */
  environment?: 'test' | 'live';
}

export interface TestPartner {
  readonly name: string;
  readonly key: string;
  readonly scope: ModelScope;
}

/** Creates a partner with its grants and a key. */
export async function makePartner(database: OpenDatabase, clock: Clock, setup: PartnerSetup): Promise<TestPartner> {
  const {
    name,
    everything = false,
    leadEntities = [],
    coops = [],
    kinds = null,
    requestsPerMinute = 1_000_000,
    environment = 'test',
  } = setup;
  await createPartner(database, clock, name, { everything });
  if (leadEntities.length + coops.length > 0) {
    await grant(database, clock, name, { everything: false, leadEntities, coops });
  }
  await setPartner(database, clock, name, { requestsPerMinute, kinds });
  const { key } = await issueKey(database, clock, name, { environment, lifetimeMs: null });
  return { name, key, scope: await readScope(database, name) };
}

/** The grants as stored in the database, for the model. */
export async function readScope({ kysely }: OpenDatabase, name: string): Promise<ModelScope> {
  const partner = await kysely
    .selectFrom('access.partners')
    .select(['id', 'everything_since'])
    .where('name', '=', name)
    .executeTakeFirstOrThrow();
  const grants = await kysely.selectFrom('access.grants').selectAll().where('partner_id', '=', partner.id).execute();
  const ofKind = (kind: string): Record<string, string> =>
    Object.fromEntries(grants.filter((row) => row.kind === kind).map((row) => [row.resource_id, row.granted_at]));
  return { everythingSince: partner.everything_since, leadEntities: ofKind('lead_entity'), coops: ofKind('coop') };
}
