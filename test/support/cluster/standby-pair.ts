import type { OpenDatabase } from '../../../src/database/database.ts';
import { openForCommands } from '../../../src/database/open.ts';
import { migrate } from '../../../src/database/migrations/migrator.ts';
import { createClient, type Client } from '../client.ts';
import { makePartner } from '../partners.ts';
import { publishLines, SMALL_CATALOG } from '../publishing.ts';
import { startTcpProxy, type TcpProxy } from '../network/tcp-proxy.ts';
import { startPrimary, startReplica, type PostgresPart, type ReplicaPart } from './postgres.ts';
import { startServicePart, type ServicePart } from './service.ts';
import { Workspace } from './workspace.ts';

/** A primary and its standby, with a service and a few records: for tests of failover. */
export interface StandbyPair {
  readonly workspace: Workspace;
  readonly primary: PostgresPart;
  readonly standby: ReplicaPart;
  /** A proxy in place of the primary's DNS name; failover points it to another server. */
  readonly name: TcpProxy;
  /** The database's URL through the proxy. */
  readonly url: string;
  readonly database: OpenDatabase;
  readonly service: ServicePart;
  readonly client: Client;
  /** The API key of a partner that sees everything. */
  readonly key: string;
  close(): Promise<void>;
}

export async function startStandbyPair(): Promise<StandbyPair> {
  const workspace = new Workspace();
  const primary = await startPrimary(workspace);
  const name = await startTcpProxy({ port: primary.port });
  const { href: url } = Object.assign(new URL(primary.url), { port: String(name.port) });
  const database = openForCommands({ engine: 'postgres', url });
  await migrate(database, Date.now);
  await publishLines(database, SMALL_CATALOG);
  const { key } = await makePartner(database, Date.now, { name: 'acme', everything: true });
  const standby = await startReplica(workspace, 'standby', primary);
  const service = await startServicePart(workspace, url);
  const client = createClient(service.url);
  const close = async (): Promise<void> => {
    client.close();
    await database.close();
    await name.close();
    await workspace.close();
  };
  return { workspace, primary, standby, name, url, database, service, client, key, close };
}
