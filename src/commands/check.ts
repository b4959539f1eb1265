import { withoutKeys } from '../access/keys.ts';
import { fail, type Finding } from '../checks/finding.ts';
import { runChecks } from '../checks/run-checks.ts';
import { ConfigError, type Config } from '../config.ts';
import { configOfProcess } from './context.ts';
import { describeFailure } from './failure.ts';
import { processOutput } from './output.ts';

const MARKS = { ok: 'ok  ', warn: 'WARN', fail: 'FAIL' };

/** What still hangs when all is said, such as the look-up of a name, does not hold the command up. */
const LINGER_MS = 500;

/**
 * `pds check`: what works, what does not, and what to do.
 *
 * @returns the exit code: 1 where something does not work.
 */
export async function check(isJson: boolean): Promise<number> {
  const output = processOutput(isJson);
  // A key that was given in the place of something else must not be repeated.
  const findings = (await findAll()).map((finding) => ({ ...finding, message: withoutKeys(finding.message) }));
  const isOk = findings.every(({ status }) => status !== 'fail');
  output.result({ ok: isOk, findings }, findings.flatMap(describeFinding));
  setTimeout(() => process.exit(), LINGER_MS).unref();
  return isOk ? 0 : 1;
}

async function findAll(): Promise<Finding[]> {
  let config: Config;
  try {
    config = configOfProcess();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const advice = 'set it right: nothing starts before, and nothing else was looked at';
    return error.problems.map((message) => fail('settings', message, advice));
  }
  return runChecks(config, Date.now, describeFailure);
}

function describeFinding({ about, status, message, advice }: Finding): string[] {
  return [`${MARKS[status]}  ${about}: ${message}`, ...(advice === null ? [] : [`      → ${advice}`])];
}
