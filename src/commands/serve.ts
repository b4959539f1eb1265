import { lookup } from 'node:dns/promises';
import closeWithGrace from 'close-with-grace';
import { pino, type Logger } from 'pino';
import { DEMO_KEY } from '../access/demo-key.ts';
import { PartnerDirectory } from '../access/partner-directory.ts';
import { buildApp } from '../app.ts';
import type { Config } from '../config.ts';
import { openForCommands, openForServing } from '../database/database.ts';
import { prepareSchema } from '../database/migrator.ts';
import { DOCS_PATH } from '../http/reference-page.ts';
import { CommandError } from './command-error.ts';
import { loadDemo } from './demo.ts';
import { processOutput } from './output.ts';
import { readCursorSecret } from '../paging/cursor-secret.ts';

/** How long requests in flight may take once the end was asked for. */
const CLOSE_DEADLINE_MS = 10_000;

/**
 * `pds serve`: answers requests until the process is told to stop. Returns when it listens.
 *
 * @param demo fills an empty database with the sample and makes the partner `demo`; only in `dev`.
 * @throws CommandError, or what the database or the system says, where it cannot start.
 */
export async function serve(config: Config, { demo }: { demo: boolean }): Promise<void> {
  if (demo && config.environment !== 'dev') {
    throw new CommandError(
      `--demo publishes a key that everyone knows, so it is for PDS_ENVIRONMENT=dev only; here it is ${config.environment}`,
    );
  }
  // Written beside the requests, not between them.
  const logger = pino({ level: config.logLevel }, pino.destination({ fd: 1, sync: false }));
  await prepareDatabase(config, demo, logger);
  const database = openForServing(config.database);
  const directory = new PartnerDirectory({ ...config, database, clock: Date.now, logger });
  try {
    await directory.start();
    const cursorSecret = await readCursorSecret(database);
    const app = await buildApp({ config, database, clock: Date.now, directory, cursorSecret, logger });
    await app.listen({ host: await resolveHost(config.host), port: config.port });
    closeWithGrace({ delay: CLOSE_DEADLINE_MS, logger }, async ({ err, signal }) => {
      if (err !== undefined) logger.fatal({ err }, 'ending after an unexpected error');
      else logger.info({ signal }, 'ending');
      await app.close();
      directory.stop();
      await database.close();
    });
    if (demo || process.stdout.isTTY) await greet(app.listeningOrigin, config, directory, demo);
  } catch (error) {
    directory.stop();
    await database.close();
    throw error;
  }
}

/** Brings the schema up to date, and fills the demonstration's database; done before it is opened for reading only. */
async function prepareDatabase(config: Config, demo: boolean, logger: Logger): Promise<void> {
  const database = openForCommands(config.database);
  try {
    const migrations = await prepareSchema(database, Date.now);
    if (migrations.length > 0) logger.info({ migrations }, 'prepared the database');
    if (demo) await loadDemo(database, Date.now);
  } finally {
    await database.close();
  }
}

/** One address: where a name has two, the framework would open a second server that lacks the listeners of the first. */
async function resolveHost(host: string): Promise<string> {
  try {
    const { address } = await lookup(host, { order: 'ipv4first' });
    return address;
  } catch {
    throw new CommandError(`no address is known for the host "${host}": choose another with PDS_HOST or --host`);
  }
}

async function greet(origin: string, config: Config, directory: PartnerDirectory, demo: boolean): Promise<void> {
  const output = processOutput(false);
  output.note(`Serving (${config.environment}) at ${origin}, reference page at ${origin}${DOCS_PATH}. Ctrl-C ends it.`);
  if (!demo) return;
  if ((await directory.findByKey(DEMO_KEY)) === null) {
    output.note('This database was not empty, so --demo left it as it was: ask with a key of your own.');
  } else {
    output.note(
      `Try it:\n\n  curl -H 'Authorization: Bearer ${DEMO_KEY}' '${origin}/v1/contracts?q=asphalt&limit=1'\n`,
    );
  }
}
