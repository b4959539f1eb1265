import { createServer, type ServerResponse } from 'node:http';
import pg from 'pg';
import { STATEMENTS, type Statement } from './minimum-statements.ts';

/* Program: the minimal server for the benchmark's requests over the plain tables. No API keys, rate limits or logs. */

const [port, url = ''] = process.argv.slice(2);
const pool = new pg.Pool({ connectionString: url, options: '-c search_path=plain' });

createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
  answer(pathname, searchParams, response).catch(() => response.writeHead(500).end());
}).listen(Number(port), '127.0.0.1');

async function answer(path: string, query: URLSearchParams, response: ServerResponse): Promise<void> {
  if (path === '/v1/contracts') return send(response, STATEMENTS.contracts, [query.get('cursor') ?? '']);
  if (path === '/v1/solicitations') return list(query, response);
  if (path === '/v1/solicitations/count') return send(response, STATEMENTS.count, filtersOf(query));
  const id = /^\/v1\/solicitations\/([^/]+)$/.exec(path)?.[1];
  if (id !== undefined) return send(response, STATEMENTS.detail, [id]);
  response.writeHead(404).end();
}

function list(query: URLSearchParams, response: ServerResponse): Promise<void> {
  const q = query.get('q');
  if (q !== null) return send(response, STATEMENTS.search, [q, query.get('closing_after')]);
  const cursor = query.get('cursor');
  if (cursor !== null) return send(response, STATEMENTS.nextPage, [cursor]);
  return send(response, STATEMENTS.list, filtersOf(query));
}

function filtersOf(query: URLSearchParams): (string | null)[] {
  return ['lead_entity', 'status', 'closing_after'].map((name) => query.get(name));
}

async function send(response: ServerResponse, statement: Statement, values: unknown[]): Promise<void> {
  const { rows } = await pool.query<{ body: string | null }>({ ...statement, values });
  const body = rows[0]?.body;
  if (body == null) {
    response.writeHead(404).end();
    return;
  }
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }).end(body);
}
