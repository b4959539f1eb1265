import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { awaitPrimary } from '../../src/commands/context.ts';
import { openForCommands } from '../../src/database/open.ts';
import { databaseForEachTest } from '../support/database.ts';
import { forEachTest } from '../support/lifetimes.ts';
import { startTcpProxy } from '../support/network/tcp-proxy.ts';
import { databaseUrlOf, MAIN } from './run-pds.ts';

/** The reason depends on whether the connection was closed before or after the first bytes were sent. */
const LOST = 'Connection terminated.*|.*ECONN.*|.*EPIPE.*';

const made = databaseForEachTest();
const server = (): URL => new URL(databaseUrlOf(made.config));
const proxy = forEachTest(() => startTcpProxy({ port: Number(server().port) }));

const urlThroughProxy = (): string => Object.assign(server(), { port: String(proxy.port) }).href;

test.each([
  ['closes each connection, as HAProxy without a primary does', 'partner create acme', 'cut', LOST, 'Created partner'],
  ['is silent', 'partner create acme', 'freeze', '.*timeout.*', 'Created partner'],
  // An import first checks whether it creates the database.
  ['closes each connection', 'import sample', 'cut', LOST, '[^]*Published sample'],
] as const)(
  'while the server %s, pds %s waits, says so once, and succeeds when there is a primary',
  async (_, line, lose, why, done) => {
    proxy[lose]();
    const env = { PATH: process.env['PATH'], PDS_DATABASE_URL: urlThroughProxy() };
    const command = spawn(process.execPath, [MAIN, ...line.split(' ')], { env });
    const exited = once(command, 'exit');
    let stderr = '';
    for await (const bytes of command.stderr) {
      stderr += String(bytes);
      if (stderr.startsWith('Waiting')) proxy.thaw();
    }
    expect(await exited, stderr).toEqual([0, null]);
    expect(stderr).toMatch(new RegExp(`^Waiting up to a minute for a primary of PostgreSQL: (${why})\\.\n${done}`));
    expect(stderr.match(/^Waiting up to a minute for a primary/gm)).toHaveLength(1);
  },
);

test('if no primary comes in time, the command fails with the reason', async () => {
  proxy.cut();
  const notes: unknown[] = [];
  await using database = openForCommands({ engine: 'postgres', url: urlThroughProxy() });
  const waiting = awaitPrimary(database, { note: (line) => notes.push(line) }, 1_000);
  await expect(waiting).rejects.toThrow(new RegExp(LOST));
  expect(notes).toHaveLength(1);
});
