import type { Revision } from '../database/revision.ts';

/** The kinds of resource that a partner may be limited to, as `pds partner set --kinds` names them. */
export const KINDS = [
  'contracts',
  'suppliers',
  'solicitations',
  'certifications',
  'lead-entities',
  'city-services',
  'coops',
] as const;

export type Kind = (typeof KINDS)[number];

/** What a partner was granted, and when. Every query of a resource takes it. */
export interface Scope {
  /** The instant from which the partner sees everything; null where it sees only what is granted one by one. */
  readonly everythingSince: string | null;
  /** Granted lead entities: id → instant of the grant. */
  readonly leadEntities: ReadonlyMap<string, string>;
  /** Granted cooperatives: id → instant of the grant. */
  readonly coops: ReadonlyMap<string, string>;
  /** The instant of the last change of the partner's grants: tells whether this scope is still the newest. */
  readonly changedAt: string;
}

/** Who asks: the partner behind a key. */
export interface Partner {
  readonly id: number;
  /** Of `access.clock`, as the statement that read the partner saw it: what belongs to a partner may be filed under it. */
  readonly revision: Revision;
  readonly name: string;
  readonly isSuspended: boolean;
  readonly requestsPerMinute: number;
  /** Null for all. */
  readonly kinds: ReadonlySet<Kind> | null;
  readonly scope: Scope;
}
