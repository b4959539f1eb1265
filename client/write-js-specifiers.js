import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

/** Matches the `.ts` of `./client.ts` in an import or export, which tsc copies from the sources into declarations. */
const EXTENSION = /(?<=\bfrom '\.[^']*|\bimport\('\.[^']*)\.ts(?=')/g;

// TypeScript before 5.0 rejects declarations that import `.ts`; every version resolves `./client.js` to `client.d.ts`.
for (const name of readdirSync('dist', { recursive: true, encoding: 'utf8' })) {
  if (!name.endsWith('.d.ts')) continue;
  const file = `dist/${name}`;
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll(EXTENSION, '.js'));
}
