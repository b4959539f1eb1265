import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished } from 'vitest';
import { createClient, type Client } from '../../src/index.ts';
import type { MirrorEnd } from '../mirror/support/mirror-process.ts';

/** A request as the server received it. */
export interface Received {
  readonly url: string;
  readonly authorization: string | undefined;
  /** Arrival time by the monotonic clock. */
  readonly atMs: number;
  /** Resolves when the response's connection is closed. */
  readonly closed: Promise<unknown>;
}

/** A stand-in for the service that misbehaves on demand. */
export interface FaultyServer {
  readonly url: string;
  readonly received: Received[];
  close(): Promise<void>;
}

/** @param index 0 for the first request. */
export type Misbehave = (response: ServerResponse, index: number, request: IncomingMessage) => void;

/** Starts a faulty server. The caller closes it. */
export async function startFaultyServer(misbehave: Misbehave): Promise<FaultyServer> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const { url = '', headers } = request;
    const closed = once(response, 'close');
    received.push({ url, authorization: headers.authorization, atMs: performance.now(), closed });
    misbehave(response, received.length - 1, request);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Starts a faulty server, which is closed after the test. */
export async function faulty(misbehave: Misbehave): Promise<FaultyServer> {
  const server = await startFaultyServer(misbehave);
  onTestFinished(() => server.close());
  return server;
}

/** A client, without retries, of such a server. */
export async function clientOfFaulty(misbehave: Misbehave): Promise<Client> {
  const { url } = await faulty(misbehave);
  return createClient({ baseUrl: url, apiKey: 'key', retry: false });
}

/** A server with one contract, which says how many there are. */
export interface CountingServer {
  readonly url: string;
  /** The number of listings from now on whose number is wrong. */
  wrong: number;
  /** The listings since the last call: of changes, or of all. */
  takeListings(): ('changes' | 'all')[];
}

/** Starts a counting server, which is closed after the test. */
export async function startCountingServer(): Promise<CountingServer> {
  const record = { id: 'ctr_1', name: 'One', suppliers: [], city_services: [] };
  const line = `${JSON.stringify({ kind: 'contracts', id: 'ctr_1', record })}\n`;
  const listings: ('changes' | 'all')[] = [];
  const { url } = await faulty((response, _index, { url: target = '' }) => {
    if (target === '/v1/key') sendJson(response, { partner: 'acme', kinds: ['contracts'] });
    else if (target.startsWith('/v1/changes')) list(response, target);
    else sendError(response, 403, 'forbidden');
  });
  const list = (response: ServerResponse, target: string): void => {
    const reset = !target.includes('updated_since');
    listings.push(reset ? 'all' : 'changes');
    server.wrong -= 1;
    // Too many and too few, in turns.
    const wrong = server.wrong % 2 === 0 ? 2 : 0;
    const totals = { contracts: server.wrong >= 0 ? wrong : 1 };
    const meta = { next_cursor: null, reset, watermark: '2026-04-15T09:00:00.000Z', totals };
    sendPiece(response, `${reset ? line : ''}${JSON.stringify({ meta })}\n`, 'application/x-ndjson', null);
  };
  const server = { url, wrong: 0, takeListings: () => listings.splice(0) };
  return server;
}

/** Asserts that a mirror reads everything again if the service counts other records, and gives up the second time. */
export async function expectReadAgain(
  start: (environment: Record<string, string>) => Promise<MirrorEnd>,
  givingUp: string,
): Promise<void> {
  const server = await startCountingServer();
  const run = () => start({ PARTNER_DATA_URL: server.url, PARTNER_DATA_KEY: 'key' });
  server.wrong = 1;
  expect(await run()).toMatchObject({ code: 0, stderr: expect.stringContaining('everything is read again') as string });
  expect(server.takeListings()).toEqual(['all', 'all']);
  expect(await run()).toMatchObject({ code: 0, stderr: '' });
  expect(server.takeListings()).toEqual(['changes']);
  server.wrong = Infinity;
  expect(await run()).toMatchObject({ code: 1, stderr: expect.stringContaining(givingUp) as string });
  expect(server.takeListings()).toEqual(['changes', 'all']);
}

/** Sends a well-formed JSON response, as the service would. */
export function sendJson(
  response: ServerResponse,
  body: object,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

export function sendError(
  response: ServerResponse,
  status: number,
  code: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  const error = { code, message: `This is ${code}.`, request_id: 'req_test' };
  sendJson(response, { error }, status, { 'x-request-id': 'req_test', ...headers });
}

/** Sends the last page of a list. */
export function sendList(response: ServerResponse, data: readonly object[]): void {
  const meta = { next_cursor: null, limit: 25 };
  sendJson(response, { data, meta }, 200, { 'x-sync-watermark': '2026-04-15T09:00:00.000Z' });
}

/** Sends a piece of a stream, with the cursor of the next one. */
export function sendPiece(response: ServerResponse, lines: string, type: string, cursor: string | null): void {
  const link = cursor === null ? {} : { link: `</v1/coops?cursor=${cursor}>; rel="next"` };
  response.writeHead(200, { 'content-type': type, ...link }).end(lines);
}

/** Sends a piece of the feed without changes, which is not the last. */
export function sendChanges(response: ServerResponse, cursor: string): void {
  const meta = { next_cursor: cursor, reset: true, watermark: null };
  sendPiece(response, `${JSON.stringify({ meta })}\n`, 'application/x-ndjson', null);
}

/** Sends a proxy's HTML page. */
export function sendHtml(response: ServerResponse, status: number): void {
  response.writeHead(status, { 'content-type': 'text/html' }).end('<!doctype html><h1>A proxy</h1>');
}

/** Closes the connection without a response. */
export function drop(response: ServerResponse): void {
  response.destroy();
}

/** Closes the connection in the middle of the body. */
export function sendHalf(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
  response.write('{"data":[', () => response.destroy());
}

/** Sends part of a body, then stalls. */
export function sendForever(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
  response.write('{"data":[');
}
