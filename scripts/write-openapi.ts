import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { format, resolveConfig } from 'prettier';
import { PartnerDirectory } from '../src/access/partner-directory.ts';
import { buildApp } from '../src/app.ts';
import { readConfig } from '../src/config.ts';
import { openForServing } from '../src/database/database.ts';

// Writes the OpenAPI documents that are checked in. A test compares them with what the service serves.

const config = readConfig({});
// A pool that is never asked for a connection: the document is made of the routes alone.
const database = openForServing({ engine: 'postgres', url: 'postgres://nowhere.invalid' });
const app = await buildApp({
  config,
  database,
  clock: Date.now,
  directory: new PartnerDirectory({ ...config, database, clock: Date.now }),
  cursorSecret: Buffer.alloc(32),
  logger: pino({ level: 'silent' }),
  observers: [],
});
for (const name of ['openapi.json', 'openapi-3.0.json']) {
  const path = fileURLToPath(new URL(`../docs/${name}`, import.meta.url));
  const { payload } = await app.inject(`/${name}`);
  await writeFile(path, await format(payload, { ...(await resolveConfig(path)), filepath: path }));
}
await app.close();
await database.close();
