import { namedOwners, type GrantedPartner } from '../access/grant-check.ts';
import { byOwner, EVERYTHING, listOwners, ownerKey, type OwnerIds } from '../access/visibility/owners.ts';
import { OWNERS, shownBy } from '../access/visibility/rules.ts';
import type { Database } from '../database/database.ts';
import { countRecordsWith } from '../index/count-records.ts';
import { ALL, facetTerm } from '../index/terms.ts';
import { INDEXED_KINDS, type IndexedKind } from '../kinds.ts';

/** The records of a kind that a partner sees before an import, and how many of them it loses and gains. */
interface KindLoss {
  before: number;
  lost: number;
  gained: number;
}

/** Of the kinds that a partner can request. */
type KindLosses = Readonly<Partial<Record<IndexedKind, KindLoss>>>;

/** The records, lead entities and coops that a partner loses by an import. */
export interface Loss extends OwnerIds {
  readonly partner: string;
  /** How many records it sees before the import, and how many of these it keeps. */
  readonly before: number;
  readonly kept: number;
  readonly seesNothing: boolean;
  readonly records: KindLosses;
}

/** Counts what an import takes from partners, and gives them, while it writes. */
export class LossTally {
  readonly #current: Database;
  readonly #tallies: readonly { readonly partner: GrantedPartner; readonly records: KindLosses }[];
  readonly #byOwner: ReadonlyMap<string, readonly { readonly records: KindLosses }[]>;
  /** The lead entities and coops that the import removes, as departures store owners. */
  readonly removed = new Set<string>();

  /** @param current the catalog before the import, whose index counts what partners see. */
  constructor(current: Database, partners: readonly GrantedPartner[]) {
    this.#current = current;
    this.#tallies = partners.map((partner) => {
      const kinds = INDEXED_KINDS.filter((kind) => partner.kinds?.includes(kind) ?? true);
      return { partner, records: Object.fromEntries(kinds.map((kind) => [kind, { before: 0, lost: 0, gained: 0 }])) };
    });
    const grants = this.#tallies.flatMap(({ partner, records }) => {
      const owners = listOwners(partner).map(({ owner, id }) => ownerKey(owner, id));
      return (partner.everything ? [EVERYTHING] : owners).map((owner) => ({ owner, records }));
    });
    this.#byOwner = Map.groupBy(grants, ({ owner }) => owner);
  }

  /** Counts a record by the owners that it has before the import and after it; none if nobody sees it. */
  add(kind: IndexedKind, before: ReadonlySet<string>, after: ReadonlySet<string>): void {
    if (before.size === after.size && before.isSubsetOf(after)) return;
    const [saw, see] = [this.#countsOf(kind, before), this.#countsOf(kind, after)];
    for (const counts of saw.difference(see)) counts.lost += 1;
    for (const counts of see.difference(saw)) counts.gained += 1;
  }

  #countsOf(kind: IndexedKind, owners: ReadonlySet<string>): Set<KindLoss> {
    const partners = [...owners].flatMap((owner) => this.#byOwner.get(owner) ?? []);
    return new Set(partners.flatMap(({ records }) => records[kind] ?? []));
  }

  get hasPartners(): boolean {
    return this.#tallies.length > 0;
  }

  /** The partners that lose something, those that keep the smallest share first. */
  async list(): Promise<Loss[]> {
    const losses: Loss[] = [];
    for (const { partner, records } of this.#tallies) {
      const owners = byOwner((owner, grants) => {
        return partner.everything ? [] : partner[grants].filter((id) => this.removed.has(ownerKey(owner, id)));
      });
      if (listOwners(owners).length === 0 && Object.values(records).every(({ lost }) => lost === 0)) continue;
      let [before, kept, after] = [0, 0, 0];
      for (const [kind, counts] of Object.entries(records) as [IndexedKind, KindLoss][]) {
        counts.before = await countRecordsWith(this.#current, kind, termsOf(partner, kind));
        before += counts.before;
        kept += counts.before - counts.lost;
        after += counts.before - counts.lost + counts.gained;
      }
      losses.push({ partner: partner.name, ...owners, before, kept, seesNothing: before > 0 && after === 0, records });
    }
    return losses.sort((one, other) => one.kept / (one.before || 1) - other.kept / (other.before || 1));
  }
}

/** The terms of the records of a kind that a partner sees. */
function termsOf(partner: GrantedPartner, kind: IndexedKind): string[] {
  if (partner.everything) return [ALL];
  return shownBy(kind).flatMap(([owner]) => partner[OWNERS[owner].grants].map((id) => facetTerm(owner, id)));
}

/** Whether an import asks before it takes this from a partner: what it was granted, or over four fifths of its records. */
export function needsConsent(loss: Loss): boolean {
  return listOwners(loss).length > 0 || loss.kept * 5 < loss.before;
}

/** A sentence without its period, for a preview and for a report. */
export function describeLoss(loss: Loss): string {
  const { partner, before, kept, seesNothing } = loss;
  const keeps = seesNothing
    ? 'it sees no contract, solicitation or supplier any more'
    : `it keeps ${kept} of the ${before} records that it sees`;
  const effects = [
    ...(listOwners(loss).length > 0 ? [`the import removes ${namedOwners(loss)}, granted to it`] : []),
    ...(kept * 5 < before ? [keeps] : []),
  ];
  return `partner ${partner}: ${effects.join('; ')}`;
}
