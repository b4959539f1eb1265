import { withoutKeys } from '../access/keys.ts';
import { ConfigError, readConfig, type Config } from '../config.ts';
import { printable } from '../printable.ts';
import { ImportRefusedError } from '../publishing/problems.ts';
import { causeOf, describeFailure, reportRefusal } from './output/failure.ts';
import { processOutput, type Output } from './output/output.ts';
import { InterruptedError } from './output/progress.ts';
import { variablesOfProcess, type SettingOptions } from './output/settings-file.ts';

/** The configuration from this process's environment, to which `loadSettings` has added the settings file. */
export function configOfProcess(options: SettingOptions = {}): Config {
  return readConfig(...variablesOfProcess(options));
}

/**
 * Runs a command and sets this process's exit code: the return value of `work`, 0 if it returns nothing, or
 * `failureCode` if it throws (a signal's exit code if interrupted). An error prints one message to stderr, and with
 * `--json` also `{"error": {"message": …}}` to stdout; a refused import also its problems.
 */
export async function runCommand(
  isJson: boolean,
  failureCode: number,
  work: (output: Output) => Promise<number | undefined>,
): Promise<void> {
  const output = processOutput(isJson);
  try {
    process.exitCode = (await work(output)) ?? 0;
  } catch (thrown) {
    const error = causeOf(thrown);
    process.exitCode = error instanceof InterruptedError ? error.exitCode : failureCode;
    if (error instanceof ImportRefusedError) {
      reportRefusal(output, error);
      return;
    }
    // Redact keys: an operator may have entered one in place of a name.
    const message = withoutKeys(describeFailure(error, databaseOfProcess()));
    const [first = '', ...others] = error instanceof ConfigError ? error.problems.map(withoutKeys) : [message];
    output.note([error instanceof InterruptedError ? first : `error: ${first}`, ...others]);
    if (isJson) output.result({ error: { message } }, '');
    if (error instanceof Error && ['debug', 'trace'].includes(process.env['PDS_LOG_LEVEL'] ?? '')) {
      const stack = error.stack?.replace(error.message, () => printable(error.message)) ?? '';
      output.note(withoutKeys(stack).split('\n'));
    }
  }
}

function databaseOfProcess(): Config['database'] | null {
  try {
    return configOfProcess().database;
  } catch {
    return null;
  }
}
