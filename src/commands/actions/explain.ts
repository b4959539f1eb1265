import { explain } from '../../access/explain.ts';
import { EVERYTHING } from '../../access/visibility/owners.ts';
import { OWNERS } from '../../access/visibility/rules.ts';
import type { Kind } from '../../kinds.ts';
import type { CommandContext } from '../context.ts';
import { renderColumns } from '../output/output.ts';

/** `pds explain PARTNER KIND ID`. Returns 0 if the partner sees the record, otherwise 1. */
export async function explainRecord(
  { config, database, clock, output }: CommandContext,
  partner: string,
  kind: Kind,
  key: string,
): Promise<number> {
  const found = await explain(database, clock, partner, kind, key);
  const { id, sees, changedAt, lastRequest } = found;
  const by = found.by.map(({ grant, id: owner, contract, since }) => {
    const named = grant === EVERYTHING ? grant : `${OWNERS[grant].label} ${owner}`;
    return `${named}${contract === null ? '' : `, whose contract ${contract} names it`}, since ${since}`;
  });
  output.result(found, [
    `${partner} ${sees ? 'sees' : 'does not see'} ${kind} ${id}.`,
    ...renderColumns([
      ...by.map((text) => [sees ? 'by' : 'granted', text]),
      ...found.because.map(({ reason, instead }) => ['because', `${reason}: ${instead}`]),
      ['last changed', changedAt ?? '-'],
      ['last request', lastRequest ?? `none in ${config.usageRetentionDays} days`],
    ]),
  ]);
  return sees ? 0 : 1;
}
