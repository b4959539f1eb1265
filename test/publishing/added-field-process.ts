import { sql } from 'kysely';
import { pino } from 'pino';
import { PartnerDirectory } from '../../src/access/partner-directory.ts';
import { buildApp } from '../../src/app.ts';
import { readConfig } from '../../src/config.ts';
import { openForCommands, openForServing } from '../../src/database/open.ts';
import { readCursorSecret } from '../../src/http/request/page-parameters.ts';
import { publish } from '../../src/publishing/publish.ts';
import { listSources } from '../../src/publishing/read/source.ts';
import { loadModel } from '../model/model.ts';
import { changeStored } from '../support/stored-catalog.ts';

/** The service of a copy of the tree, with a field added: see `added-field.sqlite.test.ts`. */
export interface AddedField {
  /** Contracts as JSON and as CSV, and as the model expects them. */
  readonly served: readonly object[];
  readonly csv: string;
  readonly expected: readonly object[];
  /** The properties of a contract in the OpenAPI document. */
  readonly documented: Readonly<Record<string, object>>;
}

const [path = '', directory = '', key = ''] = process.argv.slice(2);
const database = openForCommands({ engine: 'sqlite', path });
// As the migration of a version that adds a field must do.
await changeStored(database, ({ kysely }) => sql`update catalog.contracts set line_hash = ''`.execute(kysely));
const { timestamp } = await publish(database, await listSources(directory), { clock: Date.now });
const config = readConfig({});
const serving = openForServing({ engine: 'sqlite', path });
const partners = new PartnerDirectory({ ...config, database: serving, clock: Date.now });
await partners.start();
const app = await buildApp({
  config,
  database: serving,
  clock: Date.now,
  directory: partners,
  cursorSecret: await readCursorSecret(database),
  logger: pino({ level: 'silent' }),
  observers: [],
});
const get = async (url: string, accept = 'application/json'): Promise<string> =>
  (await app.inject({ url, headers: { authorization: `Bearer ${key}`, accept } })).payload;
const everything = { everythingSince: '', leadEntities: {}, coops: {} };
const model = loadModel([{ path: directory, publishedAt: timestamp ?? '' }]);
const { components } = JSON.parse(await get('/openapi.json')) as {
  components: { schemas: { Contract: { properties: AddedField['documented'] } } };
};
const seen: AddedField = {
  served: (JSON.parse(await get('/v1/contracts')) as { data: object[] }).data,
  csv: await get('/v1/contracts', 'text/csv'),
  expected: model.list('contracts', {}, everything, ''),
  documented: components.schemas.Contract.properties,
};
process.stdout.write(JSON.stringify(seen));
await app.close();
partners.stop();
await Promise.all([serving.close(), database.close()]);
