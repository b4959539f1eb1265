import { objectsAt, textAt, type JsonObject } from '../json.ts';
import { ValueError } from '../value-error.ts';
import { timeAt, type ContractingProcess } from './process.ts';

/**
 * The status of a solicitation. Compared with the dates of the data and never with the clock, so that the same input
 * gives the same output.
 *
 * @returns null if the publisher has withdrawn the process.
 * @throws ValueError if OCDS does not have the status and no mapping names it.
 */
export function solicitationStatus(process: ContractingProcess): string | null {
  const { release, options } = process;
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
      const closeAt = timeAt(process, release, 'tender', 'tenderPeriod', 'endDate');
      const isClosed = closeAt === null || closeAt < process.lastDate;
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
      throw ValueError.of(status, `is not one of ${known}; ${hint}`, 'tender.status');
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
