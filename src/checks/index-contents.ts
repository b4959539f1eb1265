import type { DatabaseConfig } from '../config.ts';
import { openForCommands, openForServing } from '../database/open.ts';
import type { OnProgress } from '../progress.ts';
import { verifyIndex, verifySample, type IndexFault, type IndexFindings } from './verify-index.ts';
import { fail, ok, type Finding } from './finding.ts';

const about = 'index';

/** Compares a random sample of the index with the records. Takes up to about two seconds. */
export async function checkIndexSample(config: DatabaseConfig): Promise<Finding[]> {
  const database = openForServing(config);
  try {
    const findings = await verifySample(database);
    const { records, rows } = totalsOf(findings);
    const message = `a sample matches the records (${records} records, ${rows} rows); --full checks all of it`;
    return describeFindings(findings, message);
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
  const { records, rows } = totalsOf(findings);
  return describeFindings(findings, `all of it matches the records (${records} records, ${rows} rows)`);
}

function totalsOf(findings: readonly IndexFindings[]): { records: number; rows: number } {
  return {
    records: findings.reduce((sum, { records }) => sum + records, 0),
    rows: findings.reduce((sum, { rows }) => sum + rows, 0),
  };
}

const ADVICE =
  'run "pds reindex": until then, lists and counts may lack records or show others. If it happens again, look for the cause, ' +
  'such as a failing disk or a program that writes to the tables';

function describeFindings(findings: readonly IndexFindings[], message: string): Finding[] {
  const failed = findings
    .filter(({ faults }) => faults.size > 0)
    .map(({ kind, faults }) => {
      const described = [...faults].map(([fault, { count, example }]) => {
        const { one, many } = WORDS[fault];
        return `${count} ${count === 1 ? one : many}${example === null ? '' : ` (${count === 1 ? '' : 'first: '}${example})`}`;
      });
      return fail(about, `the index of ${kind} has ${described.join(', ')}`, ADVICE);
    });
  return failed.length > 0 ? failed : [ok(about, message)];
}

const WORDS: Readonly<Record<IndexFault, { one: string; many: string }>> = {
  'missing row': { one: 'missing term', many: 'missing terms' },
  'superfluous row': { one: 'superfluous term', many: 'superfluous terms' },
  'differing row': { one: 'term with the wrong records', many: 'terms with the wrong records' },
  'record without position': { one: 'record without a position', many: 'records without a position' },
  'misplaced record': { one: 'record out of order', many: 'records out of order' },
  'unlisted block': { one: 'block that is not listed', many: 'blocks that are not listed' },
};
