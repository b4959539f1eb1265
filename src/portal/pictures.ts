import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance } from 'fastify';
import { entityTag, isUnchanged } from '../http/caching.ts';
import { PICTURES_PATH } from './paths.ts';

const DIRECTORY = fileURLToPath(new URL('../../docs/pictures', import.meta.url));

interface Picture {
  readonly bytes: Buffer;
  readonly etag: string;
}

/** Registers a route for each picture in `docs/pictures`, which is read on its first request. */
export function registerPictures(app: FastifyInstance): void {
  for (const name of readdirSync(DIRECTORY).filter((name) => name.endsWith('.png'))) {
    let picture: Promise<Picture> | undefined;
    app.get(`${PICTURES_PATH}/${name}`, { schema: { hide: true } }, async (request, reply) => {
      const { bytes, etag } = await (picture ??= readPicture(`${DIRECTORY}/${name}`));
      reply.headers({ 'cache-control': 'no-cache', etag });
      if (isUnchanged(request.headers['if-none-match'], etag)) return reply.code(304).send();
      return reply.type('image/png').send(bytes);
    });
  }
}

async function readPicture(file: string): Promise<Picture> {
  const bytes = await readFile(file);
  return { bytes, etag: entityTag(bytes.toString('latin1')) };
}
