import { findLastingPort } from '../free-port.ts';
import { answers } from './answers.ts';
import { fillIn } from './operator-file.ts';
import { startPart } from './part.ts';
import { ROLE, type PostgresPart } from './postgres.ts';
import type { Workspace } from './workspace.ts';

/**
 * Starts PgBouncer in transaction mode in front of a primary and its replica, with the operators' guide's settings and
 * the role's password hash from PostgreSQL.
 */
export async function startPgBouncer(workspace: Workspace, primary: PostgresPart, replica: PostgresPart) {
  const port = await findLastingPort();
  const [role] = await primary.query<{ line: string }>(
    `select format('"%s" "%s"', rolname, rolpassword) as line from pg_authid where rolname = '${ROLE.name}'`,
  );
  const target = (server: PostgresPart): string => `host=127.0.0.1 port=${server.port}`;
  const configuration = fillIn('pgbouncer.ini', {
    'host=10.0.0.21 port=5432': target(primary),
    'host=10.0.0.22 port=5432': target(replica),
    'listen_port = 6432': `listen_port = ${port}`,
    '/etc/pgbouncer/userlist.txt': workspace.write('userlist.txt', `${role?.line ?? ''}\n`),
  });
  const path = workspace.write('pgbouncer.ini', configuration);
  const isReady = (): Promise<boolean> => answers(port);
  /** The URL of the primary or, if `ofReplica`, of the replica. */
  const url = ({ ofReplica = false } = {}): string => {
    const database = ofReplica ? `${ROLE.database}_replica` : ROLE.database;
    return `postgres://${ROLE.name}:${ROLE.password}@127.0.0.1:${port}/${database}?pgbouncer=true`;
  };
  return startPart(
    workspace,
    // SIGTERM is an immediate shutdown, even with connected clients.
    { name: 'pgbouncer', program: 'pgbouncer', args: () => [path], stopSignal: 'SIGTERM', isReady },
    { url },
  );
}
