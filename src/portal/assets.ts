import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance } from 'fastify';
import { registerStaticText } from '../http/static-text.ts';
import { ASSETS_PATH } from './paths.ts';

const DIRECTORY = fileURLToPath(new URL('browser', import.meta.url));

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml; charset=utf-8',
};

/**
 * Registers a route for each servable file in `browser/`, subfolders included. File names are read at startup, so no
 * request can name any other file.
 */
export function registerAssets(app: FastifyInstance): void {
  for (const name of readdirSync(DIRECTORY, { recursive: true, encoding: 'utf8' })) {
    const type = TYPES[extname(name)];
    if (type === undefined) continue;
    const path = `${ASSETS_PATH}/${name.replaceAll('\\', '/')}`;
    registerStaticText(app, path, type, () => readFile(`${DIRECTORY}/${name}`, 'utf8'));
  }
}
