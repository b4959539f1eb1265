import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

/** The `.ts` of `./client.ts` in an import or export: TypeScript copies it from the sources into declarations. */
const EXTENSION = /(?<=\bfrom '\.[^']*|\bimport\('\.[^']*)\.ts(?=')/g;

// TypeScript before 5.0 refuses declarations that import `.ts`; every version finds `client.d.ts` by `./client.js`.
for (const name of readdirSync('dist', { recursive: true, encoding: 'utf8' })) {
  if (!name.endsWith('.d.ts')) continue;
  const file = `dist/${name}`;
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll(EXTENSION, '.js'));
}
