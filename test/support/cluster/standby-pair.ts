import { openForCommands } from '../../../src/database/open.ts';
import { migrate } from '../../../src/database/migrations/migrator.ts';
import { createClient } from '../client.ts';
import { makePartner } from '../partners.ts';
import { publishLines, SMALL_CATALOG } from '../publishing.ts';
import { startTcpProxy } from '../network/tcp-proxy.ts';
import { startPrimary, startReplica } from './postgres.ts';
import { startServicePart } from './service.ts';
import { Workspace } from './workspace.ts';

/** Starts a primary and its standby, with a service and a few records: for tests of failover. */
export async function startStandbyPair() {
  const workspace = new Workspace();
  const primary = await startPrimary(workspace);
  // In place of the primary's DNS name; failover points it to another server.
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
