import { namedOwners, type IdleGrants } from '../../access/grant-check.ts';

/**
 * What the grants of partners lose by an import: lead entities and coops that it removes, and the last record that a
 * partner sees.
 *
 * @param before as of the catalog before the import, and `after` with its changes, of the same partners.
 */
export function findLostAccess(before: readonly IdleGrants[], after: readonly IdleGrants[]): IdleGrants[] {
  const earlier = new Map(before.map((idle) => [idle.partner, idle]));
  return after.flatMap((idle): IdleGrants[] => {
    const { partner } = idle;
    const { leadEntities = [], coops = [], seesNothing = false } = earlier.get(partner) ?? {};
    const lost = {
      partner,
      leadEntities: [...new Set(idle.leadEntities).difference(new Set(leadEntities))],
      coops: [...new Set(idle.coops).difference(new Set(coops))],
      seesNothing: idle.seesNothing && !seesNothing,
    };
    return lost.seesNothing || lost.leadEntities.length + lost.coops.length > 0 ? [lost] : [];
  });
}

/** A sentence without its period, for a preview and for a report. */
export function describeLostAccess({ partner, ...lost }: IdleGrants): string {
  const { leadEntities, coops, seesNothing } = lost;
  const effects = [
    ...(leadEntities.length + coops.length > 0 ? [`the import removes ${namedOwners(lost)}, granted to it`] : []),
    ...(seesNothing ? ['it sees no contract, solicitation or supplier any more'] : []),
  ];
  return `partner ${partner}: ${effects.join('; ')}`;
}
