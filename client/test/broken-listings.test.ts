import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { createClient, UnexpectedAnswerError, type Client } from '../src/index.ts';
import { clientOfFaulty, faulty, sendChanges, sendJson, sendPiece } from './support/faulty-server.ts';

/** Reads a listing whole, and returns the error that this must throw. */
async function refusal(listing: AsyncIterable<unknown>): Promise<UnexpectedAnswerError> {
  const error: unknown = await Array.fromAsync(listing).then(
    () => expect.fail('it was read whole'),
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(UnexpectedAnswerError);
  return error as UnexpectedAnswerError;
}

const WATERMARK = { 'x-sync-watermark': '2026-04-15T09:00:00.000Z' };
type Read = (client: Client) => AsyncIterable<unknown>;
const LISTINGS: readonly [string, (response: ServerResponse, cursor: string) => void, Read][] = [
  [
    'a list',
    (response, next_cursor) => sendJson(response, { data: [], meta: { next_cursor, limit: 1 } }, 200, WATERMARK),
    (client) => client.coops.list(),
  ],
  [
    'a stream',
    (response, cursor) => sendPiece(response, '{}\n', 'application/x-ndjson', cursor),
    (client) => client.stream('coops'),
  ],
  ['CSV', (response, cursor) => sendPiece(response, 'id\n', 'text/csv', cursor), (client) => client.csv('coops')],
  ['changes', sendChanges, (client) => client.changes()],
];

test.each(LISTINGS)('a cursor that %s had before ends it with an error', async (_, send, read) => {
  for (const count of [1, 3]) {
    let requests = 0;
    const client = await clientOfFaulty((response) => {
      requests += 1;
      // A listing that goes on must fail the test, not run until its end.
      if (requests > 10) response.destroy();
      else send(response, `cursor_${requests % count}`);
    });
    const error = await refusal(read(client));
    expect(error.message).toContain('repeats a cursor');
    expect(requests).toBe(count + 1);
  }
});

test('a link without a cursor does not end a stream early', async () => {
  const client = await clientOfFaulty((response) =>
    response
      .writeHead(200, { 'content-type': 'application/x-ndjson', link: '</v1/coops?limit=2>; rel="next"' })
      .end('{}\n'),
  );
  expect((await refusal(client.stream('coops'))).message).toContain('the link to the next piece has no cursor');
});

test.each<[string, string, Read]>([
  ['NDJSON', 'application/x-ndjson', (client) => client.stream('coops')],
  ['CSV', 'text/csv', (client) => client.csv('coops')],
])('a piece of %s that ends within a line is read again, and returned only if it is whole', async (_, type, read) => {
  const server = await faulty((response, index) =>
    sendPiece(response, index === 0 ? '{"id":"a"}\n{"id":"b' : '{"id":"a"}\n{"id":"b"}\n', type, null),
  );
  const client = createClient({ baseUrl: server.url, apiKey: 'key', retry: { minDelayMs: 1 } });
  expect(JSON.stringify(await Array.fromAsync(read(client)))).toContain('b');
  expect(server.received).toHaveLength(2);
});

test.each<[string, Read]>([
  ['a list', (client) => client.coops.list()],
  ['a stream', (client) => client.stream('coops')],
  ['changes', (client) => client.changes()],
])('%s whose response has no end is given up before that fills the memory, and not read again', async (_, read) => {
  const chunk = new Uint8Array(8 * 2 ** 20);
  let [requests, sent, isCancelled] = [0, 0, false];
  const body = (): ReadableStream<Uint8Array> =>
    new ReadableStream({
      pull(controller) {
        sent += chunk.length;
        if (sent > 320 * 2 ** 20) controller.close();
        else controller.enqueue(chunk);
      },
      cancel() {
        isCancelled = true;
      },
    });
  const fetch = async (): Promise<Response> => {
    requests += 1;
    return new Response(body());
  };
  const client = createClient({ baseUrl: 'http://127.0.0.1', apiKey: 'key', fetch, retry: { minDelayMs: 1 } });
  const error = await refusal(read(client));
  expect(error.message).toMatch(/^\/v1\/.*: the response has more than 256 MiB$/);
  expect([requests, isCancelled]).toEqual([1, true]);
});
