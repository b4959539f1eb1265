import type { DatabaseConfig } from '../config.ts';
import { openForCommands, openForServing } from '../database/open.ts';
import type { OnProgress } from '../progress.ts';
import { fail, ok, type Finding } from './finding.ts';
import { FAULTS, verifyIndex, verifySample, type IndexFindings } from './verify-index.ts';

const about = 'index';

/** Compares a random sample of the index with the records. Takes up to about two seconds. */
export async function checkIndexSample(config: DatabaseConfig): Promise<Finding[]> {
  const database = openForServing(config);
  try {
    const findings = await verifySample(database);
    return describeFindings(findings, (size) => `a sample matches the records (${size}); --full checks all of it`);
  } finally {
    // Not awaited: a hanging server would not close its connections.
    void database.close().catch(() => undefined);
  }
}

/**
 * Compares the whole index with the records.
 *
 * @param onProgress called regularly. An error it throws ends the comparison.
 */
export async function checkWholeIndex(config: DatabaseConfig, onProgress: OnProgress): Promise<Finding[]> {
  // Serving connections have a statement timeout of five seconds. SQLite has none, and opens its files read-only.
  await using database = config.engine === 'sqlite' ? openForServing(config) : openForCommands(config);
  const findings = await verifyIndex(database, onProgress);
  return describeFindings(findings, (size) => `all of it matches the records (${size})`);
}

const ADVICE =
  'run "pds reindex": until then, lists and counts may lack records or show others. If it happens again, look for the cause, ' +
  'such as a failing disk or a program that writes to the tables';

function describeFindings(findings: readonly IndexFindings[], success: (size: string) => string): Finding[] {
  const failed = findings
    .filter(({ faults }) => faults.size > 0)
    .map(({ kind, faults }) => {
      const described = [...faults].map(([fault, { count, example }]) => {
        const { one, many } = FAULTS[fault];
        return `${count} ${count === 1 ? one : many} (${count === 1 ? '' : 'first: '}${example})`;
      });
      return fail(about, `the index of ${kind} has ${described.join(', ')}`, ADVICE);
    });
  if (failed.length > 0) return failed;
  const sumOf = (of: 'records' | 'rows') => findings.reduce((sum, each) => sum + each[of], 0);
  return [ok(about, success(`${sumOf('records')} records, ${sumOf('rows')} rows`))];
}
