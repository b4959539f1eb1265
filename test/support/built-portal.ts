import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const BUILD = fileURLToPath(new URL('../../portal/build.ts', import.meta.url));

/** Builds the documentation site if one of its sources is newer. */
export function setup(): void {
  execFileSync(process.execPath, [BUILD, '--if-outdated'], { stdio: ['ignore', 'ignore', 'inherit'] });
}
