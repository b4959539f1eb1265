import type { RunningCandidate } from '../candidates/candidate.ts';
import type { Question } from '../candidates/question.ts';
import type { BenchContext } from './context.ts';

/** Fetches a response. @throws Error if the status is not 2xx. */
export async function fetchOne(
  candidate: RunningCandidate,
  question: Question,
): Promise<{ body: string; tag: string }> {
  const request = candidate.requestFor(question);
  if (request === null) throw new Error(`${candidate.name} does not support this request`);
  const response = await fetch(`http://127.0.0.1:${candidate.port}${request.path}`, {
    method: request.body === undefined ? 'GET' : 'POST',
    headers: { ...candidate.headers(0), 'Accept-Encoding': 'identity' },
    ...(request.body !== undefined && { body: request.body }),
  });
  const body = await response.text();
  if (!response.ok) throw new Error(`${request.path}: status ${response.status}, ${body.slice(0, 500)}`);
  return { body, tag: response.headers.get('etag') ?? '' };
}

/** Returns the candidates that respond to a question with the same records in the same order as the first one. */
export async function withSameRecords(
  { record }: BenchContext,
  candidates: readonly RunningCandidate[],
  question: Question,
): Promise<RunningCandidate[]> {
  let expected: string | undefined;
  const same: RunningCandidate[] = [];
  for (const candidate of candidates) {
    if (candidate.requestFor(question) === null) continue;
    const found = await fetchOne(candidate, question).then(({ body }) => describe(JSON.parse(body)), String);
    expected ??= found;
    if (found === expected) same.push(candidate);
    else record.problem(candidate.name, `other records: ${found} in place of ${expected}`);
  }
  return same;
}

/** Extracts the ids, or the total, from a response of any candidate. */
function describe(answer: unknown): string {
  if (Array.isArray(answer)) return answer.map((record: { id?: unknown }) => String(record.id)).join(' ');
  if (typeof answer !== 'object' || answer === null) return String(answer);
  const { data, total, nodes, id, count } = answer as Record<string, unknown>;
  if (data !== undefined) return describe(data);
  if (nodes !== undefined) return describe(nodes);
  if (id !== undefined) return describe([answer]);
  const number = total ?? count;
  if (typeof number === 'number' || typeof number === 'string') return String(number);
  return describe(Object.values(answer)[0]);
}
