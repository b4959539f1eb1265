import { getPartnerId } from '../../access/partner-admin.ts';
import { listChanges, type RecordedChange } from '../../database/audit.ts';
import type { CommandContext } from '../context.ts';
import { renderColumns } from '../output/output.ts';

/** Items shown per list; `--json` shows all. */
const SHOWN_OF_A_LIST = 5;

/** `pds audit`: lists operators' changes of the last days, newest last. */
export async function showAudit(
  { database, clock, output }: CommandContext,
  { days, partner = null }: { days: number; partner?: string | null },
): Promise<undefined> {
  const changes = await listChanges(database, clock, { days, partner });
  // A misspelled name would look like a partner without changes. A deleted partner has only changes.
  if (partner !== null && changes.length === 0) await getPartnerId(database, partner);
  const heading = ['AT', 'BY', 'ACTION', 'PARTNER', 'KEY ID', 'DETAILS'];
  output.result({ changes: changes.map(changeJson) }, renderColumns([heading, ...changes.map(changeRow)]));
}

function changeRow({ at, actor, action, partner, keyId, details }: RecordedChange): string[] {
  return [at, actor, action, partner ?? '-', keyId ?? '-', describeDetails(details)];
}

function changeJson({ at, actor, action, partner, keyId, details }: RecordedChange): Record<string, unknown> {
  return { at, actor, action, partner, key_id: keyId, details };
}

/** `everything=true lead_entities=le_a,le_b`; nested details are in parentheses. */
function describeDetails(details: object): string {
  return Object.entries(details)
    .map(([name, value]) => `${name}=${describeValue(value)}`)
    .join(' ');
}

function describeValue(value: unknown): string {
  if (Array.isArray(value)) {
    const shown = value.slice(0, SHOWN_OF_A_LIST).map(describeValue).join(',');
    return value.length > SHOWN_OF_A_LIST ? `${shown},… (${value.length} in total)` : shown;
  }
  if (value === null) return '-';
  if (typeof value === 'object') return `(${describeDetails(value)})`;
  // Quoted if it could be mistaken for another name and value.
  return typeof value === 'string' && !/[\s=,()"]/.test(value) ? value : JSON.stringify(value);
}
