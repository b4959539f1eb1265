import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { PartnerDirectory } from '../src/access/partner-directory.ts';
import { buildApp } from '../src/app.ts';
import { readConfig } from '../src/config.ts';
import { openForServing } from '../src/database/open.ts';
import { formatFor } from './format.ts';

// Writes the checked-in OpenAPI documents. A test compares them with those that the service serves.

const config = readConfig({});
// This pool never connects: the document depends only on the routes.
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
  await writeFile(path, await formatFor(path, payload));
}
await app.close();
await database.close();
