import { join } from 'node:path';
import type { HttpRequest } from '../load/load.ts';
import type { RunningCandidate } from './candidate.ts';
import { PEERS_FOLDER, PLATFORMATIC } from './peers.ts';
import { PAGE, type Question } from './question.ts';
import { nodeProgram, startServer } from './start-server.ts';

const FIELDS =
  'id,ref,referenceNumber,title,status,issuingOrganization,leadEntityId,openAt,closeAt,questionsDueAt,intentToBidDueAt,updatedAt';

/** Its largest pages, of 100 records, each after the last id of the one before. */
const ALL = `/plainSolicitations/?limit=100&orderby.id=asc&where.status.neq=draft&fields=${FIELDS}`;

/** Its REST API, without the embedded lead entity. */
export async function startPlatformatic(plainUrl: string): Promise<RunningCandidate> {
  return startServer({
    name: PLATFORMATIC,
    allPages: { first: ALL, next: `${ALL}&where.id.gt={id}` },
    readyPath: '/plainCoops/?limit=1',
    command: nodeProgram(join(PEERS_FOLDER, 'platformatic-server.js'), plainUrl),
    requestFor,
  });
}

function requestFor(question: Question): HttpRequest | null {
  if (question.kind === 'detail') return { path: `/plainSolicitations/${question.id}` };
  if (question.kind !== 'list' || question.filters.q !== undefined) return null;
  const { leadEntity, status, closingAfter } = question.filters;
  const given = {
    'where.leadEntityId.eq': leadEntity,
    'where.status.eq': status,
    'where.closeAt.gte': closingAfter,
    ...(question.after !== undefined && { 'where.id.gt': question.after, 'where.status.neq': 'draft' }),
  };
  const where = Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : `&${name}=${value}`));
  return { path: `/plainSolicitations/?limit=${PAGE}&orderby.id=asc&fields=${FIELDS}${where.join('')}` };
}
