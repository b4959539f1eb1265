import { withoutKeys } from '../../access/keys.ts';
import { findSettings, type FoundSetting } from '../../config.ts';
import { SETTINGS, type Setting } from '../../settings.ts';
import { renderColumns, type Output } from '../output/output.ts';
import { loadedFile, variablesOfProcess, type SettingOptions } from '../output/settings-file.ts';

const HIDDEN = '***';

/**
 * `pds config`: prints all settings in force, invalid ones too, without passwords, and where each is set. The options
 * are those of `pds serve` that override a setting. Returns exit code 1 if a setting is invalid.
 */
export async function showConfig(output: Output, options: SettingOptions): Promise<number> {
  const [variables, originOf] = variablesOfProcess(options);
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

/** Hides passwords, or all of the value if they cannot be told apart. */
export function withoutSecrets({ name, text, problem }: Pick<FoundSetting, 'name' | 'text' | 'problem'>): string {
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
