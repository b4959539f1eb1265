import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import fresh from 'fresh';
import type { EncodedText } from './encoded-text.ts';
import { setHeaders, type HeaderList } from './headers.ts';

/** A response to a request for a text, without the headers that every response has. */
interface TextResponse {
  readonly status: 200 | 304;
  readonly headers: HeaderList;
  readonly body: string | Buffer | undefined;
}

/**
 * Whether the client already has the content with this tag.
 *
 * @param ifNoneMatch no other header counts: `Cache-Control: no-cache` from a client is meant for intermediate caches.
 */
export function isUnchanged(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  // Fast path: the tag exactly as we sent it. The library handles lists, `*` and the strong form.
  return ifNoneMatch === etag || fresh({ 'if-none-match': ifNoneMatch }, { etag });
}

/**
 * The text in the client's preferred encoding, or 304 if the client already has it. Used for cached and for new
 * responses, so that they cannot differ.
 *
 * @returns null if the text is not compressed yet.
 */
export function renderText(request: IncomingMessage, text: EncodedText, contentType: string): TextResponse | null {
  const { 'if-none-match': ifNoneMatch, 'accept-encoding': accepted } = request.headers;
  if (isUnchanged(ifNoneMatch, text.etag)) return { status: 304, headers: ['etag', text.etag], body: undefined };
  const encoding = text.encodingFor(accepted);
  const body = text.find(encoding);
  if (body === null) return null;
  const headers = ['etag', text.etag, 'content-type', contentType, 'content-length', String(Buffer.byteLength(body))];
  if (encoding !== 'identity') headers.push('content-encoding', encoding);
  return { status: 200, headers, body };
}

/** Sends a text as `renderText` renders it, once it is compressed. */
export function sendText(
  request: FastifyRequest,
  reply: FastifyReply,
  text: EncodedText,
  contentType: string,
): FastifyReply {
  const response = renderText(request.raw, text, contentType);
  if (response !== null) {
    setHeaders(reply, response.headers);
    return reply.code(response.status).send(response.body);
  }
  text.compress(text.encodingFor(request.headers['accept-encoding'])).then(
    () => sendText(request, reply, text, contentType),
    (error: unknown) => reply.send(error),
  );
  return reply;
}
