import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { format, resolveConfig } from 'prettier';
import { PartnerDirectory } from '../src/access/partner-directory.ts';
import { buildApp } from '../src/app.ts';
import { readConfig } from '../src/config.ts';
import { openForServing } from '../src/database/database.ts';

// Writes the OpenAPI document that is checked in. A test compares it with what the service serves.

const PATH = fileURLToPath(new URL('../docs/openapi.json', import.meta.url));

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
const { payload } = await app.inject('/openapi.json');
await app.close();
await database.close();
await writeFile(PATH, await format(payload, { ...(await resolveConfig(PATH)), filepath: PATH }));
