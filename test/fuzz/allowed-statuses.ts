import { MAX_HEAD_BYTES } from '../../src/http/server/server.ts';
import type { FuzzRequest } from './fuzz-requests.ts';

const READ_METHODS = new Set(['GET', 'HEAD']);

/**
 * Every status but 5xx that the service returns once the HTTP parser has accepted a request; 302 only outside /v1, as
 * the response contract asserts.
 */
const ANY = [200, 302, 304, 400, 401, 403, 404, 405, 429];

/** A further status of the portal's static files, for preconditions. */
const OF_STATIC_FILES = [412];

/** Below this length, how separators count toward the parser's limit cannot matter. */
const SURELY_SHORT_BYTES = MAX_HEAD_BYTES - 1_500;

/** Renders a request as Latin-1 text, one character per byte. Its connection closes after the response. */
export function renderRequest({ method, target, authorization, headers, body }: FuzzRequest): string {
  const lines = [...headers.lines, ...authorization.lines].map(([name, value]) => `${name}: ${value}`);
  const head = [`${method} ${target.path}${target.query.text} HTTP/1.1`, ...lines, 'Connection: close'].join('\r\n');
  return `${head}\r\n${body === '' ? '\r\n' : body}`;
}

/** The head of a request, which alone determines the response. */
export function headOf(bytes: string): string {
  return bytes.slice(0, bytes.indexOf('\r\n\r\n'));
}

/**
 * The statuses allowed for a request: exactly one if everything in it is certain, following the documented order of
 * checks: key, path, method, parameters, permission, record.
 */
export function allowedStatuses(request: FuzzRequest): ReadonlySet<number> {
  const { method, target, authorization, headers } = request;
  const { template, query } = target;
  const head = headOf(renderRequest(request));
  const allowed = new Set<number>();
  // The HTTP parser rejects what is too long, and can reject bytes invalid in a URL, before the key is checked.
  if (head.length > SURELY_SHORT_BYTES || /[^\x21-\x7e]/.test(target.path + query.text)) allowed.add(400);
  if (template === null) return new Set(target.path.includes('/docs') ? [...ANY, ...OF_STATIC_FILES] : ANY);
  const needsKey = template.startsWith('/v1');
  if (needsKey && authorization.holder === null) return allowed.add(401).add(429);
  if (!READ_METHODS.has(method)) return allowed.add(405);
  if (headers.verdict === 'wrong' || (needsKey && query.verdict === 'wrong')) return allowed.add(400);
  if (query.verdict !== 'right') allowed.add(400);
  const isForbidden =
    authorization.holder === 'suspended' ||
    (authorization.holder === 'confined' && !isOfContracts(template, query.text));
  // If the query is neither right nor wrong, the kinds that it names are unknown.
  if (template === '/v1/changes' && query.verdict === 'unsure') allowed.add(403).add(200);
  if (needsKey && isForbidden) return allowed.add(403);
  if (template.includes('{id}')) allowed.add(404);
  if (headers.isConditional && needsKey) allowed.add(304);
  return allowed.add(200);
}

/** Whether a partner that can read contracts only may send the request. Without `kinds`, the feed lists those it can read. */
function isOfContracts(template: string, query: string): boolean {
  if (template === '/v1/changes') return (/[?&]kinds=([^&]*)/.exec(query)?.[1] ?? 'contracts') === 'contracts';
  return /^\/v1\/(contracts|key)\b/.test(template);
}
