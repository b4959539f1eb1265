import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import type { HttpRequest } from '../load/load.ts';
import { OTHER_CORE } from '../machine/cores.ts';
import { runProgram } from '../machine/processes.ts';
import type { RunningCandidate } from './candidate.ts';
import { DIRECTUS, installedNode, PEERS_FOLDER } from './peers.ts';
import { PAGE, type Question } from './question.ts';
import { startServer } from './start-server.ts';

const TOKEN = 'token-of-the-bench';
const FIELDS =
  'id,ref,reference_number,title,status,issuing_organization,lead_entity_id.id,lead_entity_id.name,open_at,close_at,' +
  'questions_due_at,intent_to_bid_due_at,updated_at';
/** Larger pages take more of its memory, and are not faster. */
const ALL = `/items/solicitations?limit=10000&sort=id&filter[status][_neq]=draft&fields=${FIELDS}`;
const DETAIL_FIELDS = `${FIELDS},description,require_intent_registration,created_at,nigp_codes,documents,requested_items,notices,questions`;

/** Its REST API, called as administrator, so no permissions are looked up. Its own tables are in a separate schema. */
export async function startDirectus(plainUrl: string, scratch: string): Promise<RunningCandidate> {
  const folder = join(scratch, 'directus');
  for (const name of ['uploads', 'extensions']) mkdirSync(join(folder, name), { recursive: true });
  const program = join(PEERS_FOLDER, 'node_modules', 'directus', 'cli.js');
  const node = installedNode();
  const env = environmentOf(plainUrl, folder);
  await makeSchema(plainUrl);
  await runProgram(node, [program, 'bootstrap'], { core: OTHER_CORE, cwd: folder, env });
  return startServer({
    name: DIRECTUS,
    readyPath: '/server/ping',
    headers: () => ({ Authorization: `Bearer ${TOKEN}` }),
    allPages: { first: `${ALL}&offset=0`, next: `${ALL}&offset={read}` },
    command: (port) => ({
      program: node,
      args: [program, 'start'],
      cwd: folder,
      env: { ...env, PORT: String(port) },
      log: join(folder, 'start.log'),
    }),
    requestFor,
  });
}

function environmentOf(plainUrl: string, folder: string): Record<string, string> {
  return {
    NODE_ENV: 'production',
    HOST: '127.0.0.1',
    PUBLIC_URL: 'http://127.0.0.1',
    SECRET: 'a secret that nothing but the bench ever uses',
    DB_CLIENT: 'pg',
    DB_CONNECTION_STRING: plainUrl,
    DB_SEARCH_PATH: 'array:directus,plain',
    ADMIN_EMAIL: 'bench@example.com',
    ADMIN_PASSWORD: 'password-of-the-bench',
    ADMIN_TOKEN: TOKEN,
    TELEMETRY: 'false',
    LOG_LEVEL: 'warn',
    STORAGE_LOCAL_ROOT: join(folder, 'uploads'),
    EXTENSIONS_PATH: join(folder, 'extensions'),
    PRESSURE_LIMITER_ENABLED: 'false',
  };
}

async function makeSchema(plainUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: plainUrl });
  await client.connect();
  await client.query('create schema if not exists directus');
  await client.end();
}

function requestFor(question: Question): HttpRequest | null {
  if (question.kind === 'detail') return { path: `/items/solicitations/${question.id}?fields=${DETAIL_FIELDS}` };
  // Directus has no greater-than filter for text columns, so it cannot paginate by id.
  if (question.kind !== 'list' || question.filters.q !== undefined || 'after' in question) return null;
  const { leadEntity, status, closingAfter } = question.filters;
  const given = {
    '[lead_entity_id][_eq]': leadEntity,
    '[status][_eq]': status,
    '[close_at][_gte]': closingAfter,
  };
  const filters = Object.entries(given).flatMap(([name, value]) =>
    value === undefined ? [] : `&filter${name}=${value}`,
  );
  return { path: `/items/solicitations?limit=${PAGE}&sort=id&fields=${FIELDS}${filters.join('')}` };
}
