import { mkdtempDisposableSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { OTHER_CORE } from '../machine/cores.ts';
import { runProgram } from '../machine/processes.ts';

/** One request: a GET, or a POST of JSON if there is a body. */
export interface HttpRequest {
  path: string;
  body?: string;
}

export interface LoadOptions {
  port: number;
  headers: Readonly<Record<string, string>>;
  requests: readonly HttpRequest[];
  /** Whether to start over at the end of the list. Otherwise the load stops there, so that no request is sent twice. */
  isRepeated: boolean;
  connections: number;
  seconds: number;
}

export interface LoadResult {
  requests: number;
  seconds: number;
  /** Responses other than 2xx and 3xx, and broken connections. */
  failures: number;
}

const SCRIPT = fileURLToPath(new URL('wrk.lua', import.meta.url));

/** Sends requests for `seconds` with wrk, which on its own core sends more requests than any server here can serve. */
export async function runLoad(options: LoadOptions): Promise<LoadResult> {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'pds-bench-requests-'));
  const file = join(folder.path, 'requests');
  const lines = options.requests.map(({ path, body }) => (body === undefined ? path : `${path}\t${body}`));
  writeFileSync(file, `${lines.join('\n')}\n`);
  const headers = Object.entries(options.headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]);
  const run = ['-t1', `-c${options.connections}`, `-d${options.seconds}s`, '--timeout', '30s', '-s', SCRIPT];
  const output = await runProgram('wrk', [...run, ...headers, `http://127.0.0.1:${options.port}/`], {
    core: OTHER_CORE,
    env: { PDS_BENCH_REQUESTS: file, PDS_BENCH_REPEAT: options.isRepeated ? '1' : '0' },
  });
  return JSON.parse(output.trim().split('\n').at(-1) ?? '') as LoadResult;
}
