import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

// `node tools/run.ts PROGRAM …` runs a program of these packages, or a script (.ts) that imports them. Without a program
// it only checks that they are installed, and those of mcp/, whose types are checked.

const [program, ...words] = process.argv.slice(2);

const missing = (program === undefined ? ['tools', 'mcp'] : ['tools']).find(
  (folder) => !existsSync(join(import.meta.dirname, '..', folder, 'node_modules/.package-lock.json')),
);

if (missing !== undefined) {
  process.stderr.write(`What the checks need is not installed. Install it with: npm ci --prefix ${missing}\n`);
  process.exitCode = 1;
} else if (program?.endsWith('.ts') === true) {
  // In this process, which gets the signals.
  const script = resolve(program);
  process.argv.splice(1, 2, script);
  await import(pathToFileURL(script).href);
} else if (program !== undefined) {
  const path = join(import.meta.dirname, 'node_modules/.bin', program);
  const { status, error } = spawnSync(path, words, { stdio: 'inherit' });
  if (error !== undefined) throw error;
  process.exitCode = status ?? 1;
}
