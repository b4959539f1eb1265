import { objectsAt, textAt, type JsonObject } from '../json.ts';
import type { OcdsOptions } from './options.ts';
import type { ContractingProcess } from './process.ts';
import { FieldError, type Times } from './times.ts';

/**
 * The status of a solicitation. Compared with the dates of the data and never with the clock, so that the same input
 * gives the same output.
 *
 * @returns null if the publisher has withdrawn the process.
 * @throws FieldError if OCDS does not have the status and no mapping names it.
 */
export function solicitationStatus(process: ContractingProcess, options: OcdsOptions, times: Times): string | null {
  const { release } = process;
  const status = textAt(release, 'tender', 'finalStatus') ?? textAt(release, 'tender', 'status');
  if (status === null) return statusByTags(process);
  const mapped = Object.hasOwn(options.statuses, status) ? options.statuses[status] : undefined;
  if (mapped !== undefined) return mapped;
  switch (status) {
    case 'planning':
    case 'planned':
      return 'draft';
    case 'active': {
      // Some publishers leave a tender active after they have awarded it.
      const closeAt = times.at(release, 'tender', 'tenderPeriod', 'endDate');
      const isClosed = closeAt === null || closeAt < times.parse(process.lastDate, 'date');
      return isClosed && isAwarded(release, ['active']) ? 'awarded' : 'open';
    }
    case 'complete':
      return isAwarded(release, ['active', 'terminated']) ? 'awarded' : 'closed';
    case 'unsuccessful':
      return 'closed';
    case 'cancelled':
      return 'cancelled';
    case 'withdrawn':
      return null;
    default: {
      const known = 'planning, planned, active, complete, unsuccessful, cancelled or withdrawn';
      const hint = `to map it, pass --map FILE, with {"status":{${JSON.stringify(status)}:"open"}} in the file`;
      throw new FieldError('tender.status', `${JSON.stringify(status)} is not one of ${known}; ${hint}`);
    }
  }
}

/** Whether an award is active or has no status, or a contract has one of these statuses. */
function isAwarded(release: JsonObject, contractStatuses: readonly string[]): boolean {
  const awards = objectsAt(release, 'awards').map((award) => textAt(award, 'status'));
  const contracts = objectsAt(release, 'contracts').map((contract) => textAt(contract, 'status') ?? '');
  return (
    awards.some((status) => status === null || status === 'active') ||
    contracts.some((status) => contractStatuses.includes(status))
  );
}

function statusByTags({ release, tags }: ContractingProcess): string {
  if (tags.has('tenderCancellation')) return 'cancelled';
  if (isAwarded(release, ['active']) || [...tags].some((tag) => /^(award|contract)/.test(tag))) return 'awarded';
  if ([...tags].some((tag) => tag.startsWith('tender'))) return 'open';
  return 'draft';
}
