import { randomBytes } from 'node:crypto';
import type { FastifyReply } from 'fastify';
import type { FoundPartner } from '../../access/partner-directory.ts';
import type { Clock } from '../../timestamp.ts';

/** Alternating header names and values: of the forms that Node accepts, the fastest to write. */
export type HeaderList = readonly string[];

export const JSON_TYPE = 'application/json; charset=utf-8';

export const REQUEST_ID_HEADER = 'x-request-id';

const KEY_EXPIRY_HEADER = 'x-key-expires-at';

const NO_HEADERS: HeaderList = [];

/** On every response: the browser must trust the declared content type and not sniff the body. */
export const SECURITY_HEADERS = ['x-content-type-options', 'nosniff'] as const;

/** Errors included: without `Vary`, a cache could serve one partner's response to another. */
const PARTNER_HEADERS = [
  ...SECURITY_HEADERS,
  ...['vary', 'Authorization, Accept-Encoding'],
  ...['cache-control', 'private, no-cache'],
];

/**
 * On paths that need no key, since a link can lead a browser there: nothing on them can execute or be framed, and no
 * referrer is sent. The pages under /docs relax the policy, and allow caches.
 */
const PUBLIC_HEADERS = [
  ...SECURITY_HEADERS,
  ...['content-security-policy', "default-src 'none'; frame-ancestors 'none'"],
  ...['referrer-policy', 'no-referrer'],
  ...['vary', 'Accept-Encoding'],
  ...['cache-control', 'no-store'],
];

/** The headers of every response under /v1. HSTS is left to the proxy that terminates TLS. */
export function partnerHeaders(requestId: string): HeaderList {
  return [REQUEST_ID_HEADER, requestId, ...PARTNER_HEADERS];
}

/** When the key ends, in its last 30 days and in the overlap after a rotation; nothing before. */
export function keyHeaders({ expiry }: FoundPartner, clock: Clock): HeaderList {
  return expiry !== null && clock() >= expiry.noticeFromMs ? [KEY_EXPIRY_HEADER, expiry.expiresAt] : NO_HEADERS;
}

/** The headers of every response outside /v1. */
export function publicHeaders(requestId: string): HeaderList {
  return [REQUEST_ID_HEADER, requestId, ...PUBLIC_HEADERS];
}

/** Sets headers on a reply of the framework. */
export function setHeaders(reply: FastifyReply, headers: HeaderList): void {
  for (let at = 0; at < headers.length; at += 2) reply.header(headers[at] ?? '', headers[at + 1]);
}

// 22 characters of 6 bits: 132 bits, so IDs do not collide and cannot be guessed from one another.
const ID_LENGTH = 22;

/** Random bytes are generated for 256 IDs at once: one call per ID would cost more than everything else here. */
const IDS_IN_BLOCK = 256;
const BLOCK_BYTES = (IDS_IN_BLOCK * ID_LENGTH * 6) / 8;

/**
 * Generates request IDs. An ID sent by the client is never used, because IDs are quoted to support and looked up in the
 * log.
 */
export function requestIds(): () => string {
  let block = '';
  let next = 0;
  return () => {
    if (next === block.length) {
      block = randomBytes(BLOCK_BYTES).toString('base64url');
      next = 0;
    }
    next += ID_LENGTH;
    return `req_${block.slice(next - ID_LENGTH, next)}`;
  };
}
