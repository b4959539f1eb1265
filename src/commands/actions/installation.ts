import { statSync } from 'node:fs';
import { withoutKeys } from '../../access/keys.ts';
import { fail, warn, within, type Finding } from '../../checks/finding.ts';
import { checkIndexSample, checkWholeIndex } from '../../checks/contents.ts';
import { runChecks } from '../../checks/run-checks.ts';
import { ConfigError, type Config, type DatabaseConfig, findSettings, type FoundSetting } from '../../config.ts';
import { configOfProcess } from '../context.ts';
import { describeFailure } from '../output/failure.ts';
import { type Output, renderColumns } from '../output/output.ts';
import { InterruptedError, startProgress } from '../output/progress.ts';
import { loadedFile, variablesOfProcess } from '../output/settings-file.ts';
import { SETTINGS, type Setting } from '../../settings.ts';

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

async function findAll(output: Output, isFull: boolean): Promise<Finding[]> {
  let config: Config;
  try {
    config = configOfProcess();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const advice = 'Correct this setting first; the other checks were skipped.';
    return error.problems.map((message) => fail('settings', message, advice));
  }
  const verifyIndex = (database: DatabaseConfig): Promise<Finding[]> =>
    isFull ? verifyAll(database, output) : verifySample(database);
  const findings = await runChecks(config, Date.now, describeFailure, { verifyIndex, isFull });
  return [...findings, ...checkOwnSettingsFile()];
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

function verifySample(database: DatabaseConfig): Promise<Finding[]> {
  return within(
    'index',
    (error) => describeFailure(error, database),
    () => checkIndexSample(database),
  );
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

const HIDDEN = '***';

/**
 * `pds config`: prints all settings in force, invalid ones too, without passwords, and where each is set. The options
 * are those of `pds serve` that override a setting. Returns exit code 1 if a setting is invalid.
 */
export async function showConfig(
  output: Output,
  { host, port, reusePort, adminPort }: { host?: string; port?: string; reusePort?: boolean; adminPort?: string },
): Promise<number> {
  const [variables, originOf] = variablesOfProcess({
    PDS_HOST: host,
    PDS_PORT: port,
    PDS_REUSE_PORT: reusePort?.toString(),
    PDS_ADMIN_PORT: adminPort,
  });
  const settings = findSettings(variables, originOf).map((setting) => {
    const { name, text, origin, problem } = setting;
    const file = origin.from === 'file' ? origin.file : null;
    return { name, value: text === '' ? null : withoutSecrets(setting), from: origin.from, file, problem };
  });
  const rows = settings.map(({ name, value, from, file, problem }) => [
    name,
    file ?? from,
    `${value ?? '-'}${problem === null ? '' : `  <-- ${problem}`}`,
  ]);
  const isOk = settings.every(({ problem }) => problem === null);
  const file = loadedFile()?.file ?? null;
  const remark = isOk ? [] : 'error: settings marked with <-- are invalid. Correct each where it is set';
  output.result({ ok: isOk, file, settings }, renderColumns([['SETTING', 'FROM', 'VALUE'], ...rows]), remark);
  return isOk ? 0 : 1;
}

/** The value without passwords. All of it is hidden if they cannot be told apart. */
function withoutSecrets({ name, text, problem }: Pick<FoundSetting, 'name' | 'text' | 'problem'>): string {
  const setting = Object.entries<Setting>(SETTINGS).find(([each]) => each === name)?.[1];
  const isUnclear = problem !== null && (setting === undefined || setting.isSecret === true);
  return isUnclear ? HIDDEN : withoutKeys(withoutPassword(text));
}

function withoutPassword(text: string): string {
  const url = URL.parse(text.trim());
  if (url === null || !text.includes('://')) return text.includes('@') && !text.startsWith('sqlite:') ? HIDDEN : text;
  const secrets = [...url.searchParams.keys()].filter((name) => /pass|secret|token/i.test(name));
  // In the URL of Redis, a user name alone is often a password whose colon is missing.
  const isOnlyUser = url.protocol.startsWith('redis') && url.password === '' && url.username !== '';
  if (url.password === '' && !isOnlyUser && secrets.length === 0) return text;
  if (isOnlyUser) url.username = HIDDEN;
  else if (url.password !== '') url.password = HIDDEN;
  for (const name of secrets) url.searchParams.set(name, HIDDEN);
  return url.href;
}
