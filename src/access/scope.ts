import type { Revision } from '../database/revision.ts';
import type { Kind } from '../kinds.ts';

/** A partner's grants with their timestamps. Every query of a resource takes a scope. */
export interface Scope {
  /** When the partner was granted everything; null if it has individual grants only. */
  readonly everythingSince: string | null;
  /** Granted lead entities: ID → timestamp of the grant. */
  readonly leadEntities: ReadonlyMap<string, string>;
  /** Granted cooperatives: ID → timestamp of the grant. */
  readonly coops: ReadonlyMap<string, string>;
  /** When the partner's grants last changed. */
  readonly changedAt: string;
}

/** The partner behind a key. */
export interface Partner {
  readonly id: number;
  /**
   * Revision in `access.clock`, read by the same statement as the partner: data cached for a partner can be filed under
   * it.
   */
  readonly revision: Revision;
  readonly name: string;
  /** Its grants, kinds, suspension and deletion as one value: equal if none of them has changed. */
  readonly state: string;
  readonly isSuspended: boolean;
  readonly requestsPerMinute: number;
  /** Null for all kinds. */
  readonly kinds: ReadonlySet<Kind> | null;
  readonly scope: Scope;
}
