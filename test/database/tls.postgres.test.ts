import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { beforeAll, expect } from 'vitest';
import { callPds } from '../commands/call-pds.ts';
import { type Outcome } from '../commands/run-pds.ts';
import { makeCertificates, type Certificates } from '../support/network/certificates.ts';
import { ROLE, startPrimary, type PostgresPart } from '../support/cluster/postgres.ts';
import { Workspace } from '../support/cluster/workspace.ts';
import { testWith } from '../support/installed-programs.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { startServing } from '../support/serving-process.ts';

const test = testWith('postgresql', 'openssl');

const workspace = forAllTests(() => new Workspace());
let primary: PostgresPart;
let server: Certificates;
let strangers: Certificates;

beforeAll(async () => {
  server = await makeCertificates(workspace, 'tls');
  strangers = await makeCertificates(workspace, 'strangers');
  primary = await startPrimary(workspace);
  await set('ssl_cert_file', server.certificate);
  await set('ssl_key_file', server.key);
  await set('ssl', 'on');
  expect((await pds(trustedUrl(), 'migrate')).code).toBe(0);
}, 60_000);

/** Changes a setting of the running server, and waits until new connections use it. */
async function set(name: string, value: string): Promise<void> {
  await primary.query(`alter system set ${name} = '${value}'`, [], 'postgres');
  await primary.query('select pg_reload_conf()', [], 'postgres');
  const [row] = await primary.query<{ value: string }>(`select current_setting('${name}') as value`, [], 'postgres');
  if (row?.value !== value) await delay(200);
}

function urlOf(parameters: Record<string, string>, host = '127.0.0.1'): string {
  const url = new URL(primary.url);
  url.hostname = host;
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url.href;
}

const trustedUrl = (): string => urlOf({ sslmode: 'verify-full', sslrootcert: server.authority });

function pds(url: string, line: string, settings: Record<string, string> = {}): Promise<Outcome> {
  return callPds(line.split(' '), { PDS_DATABASE_URL: url, ...settings });
}

/** Asserts that both a command and a service fail with this message, and do not print the password. */
async function expectRefused(url: string, message: RegExp): Promise<void> {
  for (const line of ['partner list', 'serve']) {
    const { code, stdout, stderr } = await pds(url, line, { PDS_PORT: '0', PDS_ADMIN_PORT: '0' });
    expect(stderr, line).toMatch(message);
    expect(stderr.trimEnd().split('\n'), line).toHaveLength(1);
    expect(code, line).toBe(1);
    expect(stdout + stderr).not.toContain(ROLE.password);
  }
}

test('commands and the service connect over TLS to a server with a trusted certificate', async () => {
  const url = trustedUrl();
  expect(await pds(url, 'partner create acme --everything')).toMatchObject({ code: 0 });
  const { stdout: key } = await pds(url, 'key issue acme');
  await using serving = startServing({ engine: 'postgres', url });
  const client = await serving.client();
  expect((await client.get('/v1/coops', { key: key.trim() })).status).toBe(200);
  const connections = await primary.query<{ ssl: boolean; version: string }>(
    `select ssl, version from pg_stat_ssl join pg_stat_activity using (pid) where usename = '${ROLE.name}'`,
  );
  expect(connections.length).toBeGreaterThan(1);
  for (const connection of connections) expect(connection).toEqual({ ssl: true, version: 'TLSv1.3' });
  serving.kill('SIGTERM');
  await serving.closed;
  expect(serving.output()).not.toContain(ROLE.password);
}, 60_000);

test('no credentials are sent to a server that fails verification, and the error says why', async () => {
  const verify = { sslmode: 'verify-full' };
  const trust = /TLS verification failed for .*; no credentials were sent: .*sslrootcert names/;
  await expectRefused(urlOf({ ...verify, sslrootcert: strangers.authority }), trust);
  // Public CAs did not sign this certificate.
  await expectRefused(urlOf(verify), trust);
  // Its certificate is for 127.0.0.1.
  await expectRefused(
    urlOf({ ...verify, sslrootcert: server.authority }, 'localhost'),
    /TLS verification failed.*altnames/i,
  );
}, 60_000);

test('a server without TLS is refused if the URL requires TLS', async () => {
  await set('ssl', 'off');
  try {
    await expectRefused(
      trustedUrl(),
      /TLS verification failed for .*; no credentials were sent: The server does not support SSL connections/,
    );
  } finally {
    await set('ssl', 'on');
  }
}, 60_000);

test('a server that requires TLS refuses a connection without it', async () => {
  const rules = join(primary.data, 'pg_hba.conf');
  const before = readFileSync(rules, 'utf8');
  writeFileSync(rules, before.replace('host all all', 'hostssl all all'));
  try {
    await set('ssl', 'on');
    await expectRefused(primary.url, /returned an error: .*no encryption/);
    expect(await pds(trustedUrl(), 'partner list')).toMatchObject({ code: 0 });
  } finally {
    writeFileSync(rules, before);
    await set('ssl', 'on');
  }
}, 60_000);

test('an unreadable file and an unsafe sslmode are reported immediately', async () => {
  const missing = urlOf({ sslmode: 'verify-full', sslrootcert: '/nowhere/ca.pem' });
  await expectRefused(missing, /the file named by sslrootcert in the database URL cannot be read: ENOENT.*ca.pem/);
  const unsafe = /PDS_DATABASE_URL must be .*sslmode, if any, is verify-full or disable/;
  await expectRefused(urlOf({ sslmode: 'require' }), unsafe);
  expect(await pds(urlOf({ sslmode: 'disable' }), 'partner list')).toMatchObject({ code: 0 });
}, 60_000);
