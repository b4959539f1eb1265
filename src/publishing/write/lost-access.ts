import { isIdle, namedOwners, type IdleGrants } from '../../access/grant-check.ts';
import { listOwners, withoutOwners } from '../../access/visibility/owners.ts';

/**
 * The grants that name nothing and the partners that see nothing after an import, unless that was so before it.
 */
export function findLostAccess(before: readonly IdleGrants[], after: readonly IdleGrants[]): IdleGrants[] {
  const earlier = new Map(before.map((idle) => [idle.partner, idle]));
  const lost = after.map((idle): IdleGrants => {
    const before = earlier.get(idle.partner);
    if (before === undefined) return idle;
    return { ...idle, ...withoutOwners(idle, before), seesNothing: idle.seesNothing && !before.seesNothing };
  });
  return lost.filter(isIdle);
}

/** A sentence without its period, for a preview and for a report. */
export function describeLostAccess({ partner, ...lost }: IdleGrants): string {
  const effects = [
    ...(listOwners(lost).length > 0 ? [`the import removes ${namedOwners(lost)}, granted to it`] : []),
    ...(lost.seesNothing ? ['it sees no contract, solicitation or supplier any more'] : []),
  ];
  return `partner ${partner}: ${effects.join('; ')}`;
}
