import { findLastingPort } from '../free-port.ts';
import { answers } from './answers.ts';
import { fillIn } from './operator-file.ts';
import { Part } from './part.ts';
import { ROLE, type PostgresPart } from './postgres.ts';
import type { Workspace } from './workspace.ts';

/** PgBouncer in transaction mode in front of a primary and its replica. */
export class PgBouncerPart extends Part {
  readonly port: number;

  constructor(workspace: Workspace, port: number, configuration: string) {
    super(workspace, {
      name: 'pgbouncer',
      program: 'pgbouncer',
      args: () => [configuration],
      // Immediate shutdown, even with connected clients.
      stopSignal: 'SIGTERM',
      isReady: () => answers(port),
    });
    this.port = port;
  }

  /** The URL of the primary or, if `ofReplica`, of the replica. */
  url({ ofReplica = false } = {}): string {
    const database = ofReplica ? `${ROLE.database}_replica` : ROLE.database;
    return `postgres://${ROLE.name}:${ROLE.password}@127.0.0.1:${this.port}/${database}?pgbouncer=true`;
  }
}

/** Starts PgBouncer with the settings of the operators' guide, and the role's password hash from PostgreSQL. */
export async function startPgBouncer(
  workspace: Workspace,
  primary: PostgresPart,
  replica: PostgresPart,
): Promise<PgBouncerPart> {
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
  const pgbouncer = new PgBouncerPart(workspace, port, workspace.write('pgbouncer.ini', configuration));
  await pgbouncer.start();
  return pgbouncer;
}
