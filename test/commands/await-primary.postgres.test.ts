import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { awaitPrimary } from '../../src/commands/context.ts';
import { openForCommands } from '../../src/database/open.ts';
import { databaseForEachTest } from '../support/database.ts';
import { startTcpProxy, type TcpProxy } from '../support/network/tcp-proxy.ts';
import { databaseUrlOf, MAIN } from './run-pds.ts';

/** The reason depends on whether the connection was closed before or after the first bytes were sent. */
const LOST = 'Connection terminated.*|.*ECONN.*|.*EPIPE.*';

let proxy: TcpProxy;
let url: string;
const made = databaseForEachTest();
beforeEach(async () => {
  const server = new URL(databaseUrlOf(made.config));
  proxy = await startTcpProxy({ port: Number(server.port) });
  url = Object.assign(server, { port: String(proxy.port) }).href;
});
afterEach(() => proxy.close());

test.each([
  ['closes each connection, as HAProxy without a primary does', (): void => proxy.cut(), LOST],
  ['is silent', (): void => proxy.freeze(), '.*timeout.*'],
])('while the server %s, a command waits, says so once, and succeeds when there is a primary', async (_, lose, why) => {
  lose();
  const env = { PATH: process.env['PATH'], PDS_DATABASE_URL: url };
  const command = spawn(process.execPath, [MAIN, 'partner', 'create', 'acme'], { env });
  const exited = once(command, 'exit');
  let stderr = '';
  for await (const bytes of command.stderr) {
    stderr += String(bytes);
    if (stderr.startsWith('Waiting')) proxy.thaw();
  }
  expect(await exited).toEqual([0, null]);
  expect(stderr).toMatch(
    new RegExp(`^Waiting up to a minute for a primary of PostgreSQL: (${why})\\.\nCreated partner`),
  );
});

test('an import waits too, although it first looks whether it creates the database', async () => {
  proxy.cut();
  const env = { PATH: process.env['PATH'], PDS_DATABASE_URL: url };
  const command = spawn(process.execPath, [MAIN, 'import', 'sample'], { env });
  const exited = once(command, 'exit');
  let stderr = '';
  for await (const bytes of command.stderr) {
    stderr += String(bytes);
    if (stderr.startsWith('Waiting')) proxy.thaw();
  }
  expect(await exited, stderr).toEqual([0, null]);
  expect(stderr.match(/^Waiting up to a minute for a primary/gm)).toHaveLength(1);
});

test('if no primary comes in time, the command fails with the reason', async () => {
  proxy.cut();
  const notes: unknown[] = [];
  await using database = openForCommands({ engine: 'postgres', url });
  const waiting = awaitPrimary(database, { note: (line) => notes.push(line) }, 1_000);
  await expect(waiting).rejects.toThrow(new RegExp(LOST));
  expect(notes).toHaveLength(1);
});
