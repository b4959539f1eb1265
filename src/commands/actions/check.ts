import { statSync } from 'node:fs';
import { withoutKeys } from '../../access/keys.ts';
import { fail, warn, within, type Finding } from '../../checks/finding.ts';
import { checkIndexSample, checkWholeIndex } from '../../checks/contents.ts';
import { checkPrimary, checkReplica, type PrimaryState } from '../../checks/postgres.ts';
import { checkRedis } from '../../checks/redis.ts';
import { checkSettings } from '../../checks/settings.ts';
import { checkFiles, checkSqlite } from '../../checks/sqlite.ts';
import { ConfigError, type Config, type DatabaseConfig, findSettings } from '../../config.ts';
import { byEngine, pathOf } from '../../database/configured.ts';
import { displayUrlOf } from '../../printable.ts';
import { describeFailure } from '../output/failure.ts';
import type { Output } from '../output/output.ts';
import { InterruptedError, startProgress } from '../output/progress.ts';
import { loadedFile, variablesOfProcess } from '../output/settings-file.ts';
import { configOfProcess } from '../run-command.ts';
import { withoutSecrets } from './config.ts';

const MARKS = { ok: 'ok  ', warn: 'WARN', fail: 'FAIL' };

const OTHERS_CAN_READ = 0o004;

/** `pds check`: reports what works, what does not, and what to do. Returns exit code 1 if a check failed. */
export async function check(output: Output, { full = false }: { full?: boolean }): Promise<number> {
  // Redact keys: an operator may have entered one in the wrong place.
  const findings = (await findAll(output, full)).map((finding) => ({
    ...finding,
    message: withoutKeys(finding.message),
  }));
  const isOk = findings.every(({ status }) => status !== 'fail');
  output.result({ ok: isOk, findings }, findings.flatMap(describeFinding));
  return isOk ? 0 : 1;
}

/** Changes nothing, and always ends unless `isFull`, however much hangs. */
async function findAll(output: Output, isFull: boolean): Promise<Finding[]> {
  let config: Config;
  try {
    config = configOfProcess();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const advice = 'Correct this setting first; the other checks were skipped.';
    return error.problems.map((message) => fail('settings', message, advice));
  }
  const { database, environment, replicaUrl, redisUrl } = config;
  const describe = (error: unknown): string => describeFailure(error, database);
  const redis = redisUrl === null ? [] : within('redis', describe, () => checkRedis(redisUrl));
  let primary: PrimaryState | null = null;
  let isReadable = false as boolean;
  // SQLite's files are checked also if the check of the contents fails, since damage can be the reason.
  let files = pathOf(database);
  const found = await within('database', describe, () =>
    byEngine(database, {
      sqlite: async ({ path }) => {
        const checked = await checkSqlite(path, environment, Date.now);
        isReadable = checked.isReadable;
        if (!checked.isUsable) files = null;
        return checked.findings;
      },
      postgres: async ({ url }) => {
        const checked = await checkPrimary(url, environment, Date.now);
        primary = checked.state;
        isReadable = checked.state !== null;
        return checked.findings;
      },
    }),
  );
  const verify = (): Promise<Finding[]> =>
    isFull ? verifyAll(database, output) : within('index', describe, () => checkIndexSample(database));
  const index = isReadable ? await verify() : [];
  const replica =
    replicaUrl === null
      ? []
      : await within(
          `replica ${displayUrlOf(replicaUrl)}`,
          (error) => describeFailure(error, { engine: 'postgres', url: replicaUrl }),
          () => checkReplica(replicaUrl, primary),
        );
  const others = [...replica, ...(await redis)];
  // Last, since it blocks this thread, during which the timeouts of other checks would pass.
  const damage = files === null ? [] : await checkFiles(files, isFull);
  return [...checkSettings(config), ...found, ...damage, ...index, ...others, ...checkOwnSettingsFile()];
}

/** Reports a settings file that every user of the machine can read, although it holds a password. */
function checkOwnSettingsFile(): Finding[] {
  const file = loadedFile()?.file;
  if (file === undefined) return [];
  const stats = statSync(file, { throwIfNoEntry: false });
  // A pipe can be read only once.
  if (stats?.isFile() !== true || (stats.mode & OTHERS_CAN_READ) === 0) return [];
  // A setting holds a password if a part of its value is hidden.
  const secrets = findSettings(...variablesOfProcess()).filter(
    (setting) =>
      setting.origin.from === 'file' && setting.origin.file === file && withoutSecrets(setting) !== setting.text,
  );
  if (secrets.length === 0) return [];
  const names = secrets.map(({ name }) => name).join(', ');
  const message = `every user of this machine can read ${file}, which holds a password (${names})`;
  return [warn('settings', message, `Run "chmod o= ${file}".`)];
}

/** Has no time limit, unlike the other checks. @throws InterruptedError after a signal. */
async function verifyAll(database: DatabaseConfig, output: Output): Promise<Finding[]> {
  const progress = startProgress(output, 'Interrupted: the index was not fully verified. Nothing was changed.');
  try {
    return await checkWholeIndex(database, ({ done, total, what }) => progress.show('Verifying', done, total, [what]));
  } catch (error) {
    if (error instanceof InterruptedError) throw error;
    const advice = 'Fix this, then check again: the index was not fully verified.';
    return [fail('index', describeFailure(error, database), advice)];
  } finally {
    progress.stop();
  }
}

function describeFinding({ about, status, message, advice }: Finding): string[] {
  return [`${MARKS[status]}  ${about}: ${message}`, ...(advice === null ? [] : [`      → ${advice}`])];
}
