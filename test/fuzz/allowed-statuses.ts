import { LONGEST_HEAD_BYTES } from '../../src/http/server-options.ts';
import type { FuzzRequest } from './fuzz-requests.ts';

const READ_METHODS = new Set(['GET', 'HEAD']);

/** Of what the service says to a request that HTTP's parser took, everything but a failure of its own. */
const ANY = [200, 304, 400, 401, 403, 404, 405, 429];

/** Below it, separators and the parser's own counting decide nothing. */
const SURELY_SHORT_BYTES = LONGEST_HEAD_BYTES - 1_500;

/** The bytes of a request, as characters that are one byte each. Its connection ends with the answer. */
export function renderRequest({ method, target, authorization, headers, body }: FuzzRequest): string {
  const lines = [...headers.lines, ...authorization.lines].map(([name, value]) => `${name}: ${value}`);
  const head = [`${method} ${target.path}${target.query.text} HTTP/1.1`, ...lines, 'Connection: close'].join('\r\n');
  return `${head}\r\n${body === '' ? '\r\n' : body}`;
}

/** The head of a request, which alone decides what its answer is. */
export function headOf(bytes: string): string {
  return bytes.slice(0, bytes.indexOf('\r\n\r\n'));
}

/**
 * The statuses that a request may have: one where everything in it is known, by the order in which
 * the interface says that faults are found: key, path, method, parameters, permission, record.
 */
export function allowedStatuses(request: FuzzRequest): ReadonlySet<number> {
  const { method, target, authorization, headers } = request;
  const { template, query } = target;
  const head = headOf(renderRequest(request));
  const allowed = new Set<number>();
  // HTTP's parser refuses what is too long, and may refuse bytes that no address holds, before anyone looks at the key.
  if (head.length > SURELY_SHORT_BYTES || /[^\x21-\x7e]/.test(target.path + query.text)) allowed.add(400);
  if (template === null) return new Set(ANY);
  const needsKey = template.startsWith('/v1');
  if (needsKey && authorization.holder === null) return allowed.add(401).add(429);
  if (!READ_METHODS.has(method)) return allowed.add(405);
  if (headers.verdict === 'wrong' || (needsKey && query.verdict === 'wrong')) return allowed.add(400);
  if (query.verdict !== 'right') allowed.add(400);
  const isForbidden =
    authorization.holder === 'suspended' ||
    (authorization.holder === 'confined' && !template.startsWith('/v1/contracts'));
  if (needsKey && isForbidden) return allowed.add(403);
  if (template.includes('{id}')) allowed.add(404);
  if (headers.isConditional && needsKey) allowed.add(304);
  return allowed.add(200);
}
