import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readOutput } from './output.ts';
import type { HttpRequest, LoadOptions, LoadResult } from './load.ts';

const SCRIPT = fileURLToPath(new URL('wrk.lua', import.meta.url));

/** Runs the load with wrk, which on its own core sends more requests than any server here can serve. */
export async function runWrk(options: LoadOptions): Promise<LoadResult> {
  const folder = mkdtempSync(join(tmpdir(), 'pds-bench-requests-'));
  try {
    const file = join(folder, 'requests');
    writeFileSync(file, options.requests.map(lineOf).join('\n') + '\n');
    const headers = Object.entries(options.headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]);
    const run = ['-t1', `-c${options.connections}`, `-d${options.seconds}s`, '--timeout', '30s', '-s', SCRIPT];
    const output = await readOutput('wrk', [...run, ...headers, `http://127.0.0.1:${options.port}/`], {
      PDS_BENCH_REQUESTS: file,
      PDS_BENCH_REPEAT: options.isRepeated ? '1' : '0',
    });
    return JSON.parse(output.trim().split('\n').at(-1) ?? '') as LoadResult;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function lineOf({ path, body }: HttpRequest): string {
  return body === undefined ? path : `${path}\t${body}`;
}
