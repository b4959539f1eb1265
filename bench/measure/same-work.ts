import type { RunningCandidate } from '../candidates/candidate.ts';
import type { Question } from '../candidates/question.ts';
import type { BenchContext } from './context.ts';

/** Fetches the body of a response. @throws Error if the status is not 2xx. */
export async function fetchBody(candidate: RunningCandidate, question: Question): Promise<string> {
  const request = candidate.requestFor(question);
  if (request === null) throw new Error(`${candidate.name} cannot be asked this`);
  const answer = await fetch(`http://127.0.0.1:${candidate.port}${request.path}`, {
    method: request.body === undefined ? 'GET' : 'POST',
    headers: candidate.headers(0),
    ...(request.body !== undefined && { body: request.body }),
  });
  const body = await answer.text();
  if (!answer.ok)
    throw new Error(`${candidate.name} answers ${request.path} with ${answer.status}: ${body.slice(0, 500)}`);
  return body;
}

/**
 * Checks that all candidates return the same records in the same order. One that does not is reported as a gap, but
 * still measured.
 */
export async function requireSameRecords(
  { store, settings }: BenchContext,
  part: string,
  candidates: readonly RunningCandidate[],
  question: Question,
): Promise<void> {
  let expected: string | undefined;
  for (const candidate of candidates) {
    if (candidate.requestFor(question) === null) continue;
    const found = await fetchBody(candidate, question).then((body) => describe(JSON.parse(body)), String);
    expected ??= found;
    if (found === expected) continue;
    const reason = `its answer holds other records: ${found} in place of ${expected}`;
    if (settings.isSmoke) throw new Error(`${candidate.name}: ${reason}`);
    store.addGap({ part, candidate: candidate.name, reason });
  }
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
