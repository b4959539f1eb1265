/**
 * The kinds of records and their tables, in dependency order: a record only refers to records of earlier kinds. Files,
 * paths and `pds partner set --kinds` use the kind's name.
 */
export const TABLE_OF = {
  'lead-entities': 'lead_entities',
  coops: 'coops',
  'city-services': 'city_services',
  certifications: 'certifications',
  suppliers: 'suppliers',
  contracts: 'contracts',
  solicitations: 'solicitations',
} as const;

export type Kind = keyof typeof TABLE_OF;

/** The key of certifications is their abbreviation; of all other kinds, the id. */
export function keyField(kind: Kind): 'id' | 'abbreviation' {
  return kind === 'certifications' ? 'abbreviation' : 'id';
}

/** In dependency order. */
export const KINDS = Object.keys(TABLE_OF) as readonly Kind[];

/** In the order in which `pds partner` lists them. */
export const KINDS_AS_LISTED: readonly Kind[] = [
  'contracts',
  'suppliers',
  'solicitations',
  'certifications',
  'lead-entities',
  'city-services',
  'coops',
];

/** The reference lists of id and name. */
export const NAMED_REF_KINDS = ['lead-entities', 'coops', 'city-services'] as const satisfies Kind[];

export type NamedRefKind = (typeof NAMED_REF_KINDS)[number];

/** The kinds that can be large. They have an index, in which each record has a position. */
export const INDEXED_KINDS = ['suppliers', 'contracts', 'solicitations'] as const satisfies Kind[];

export type IndexedKind = (typeof INDEXED_KINDS)[number];

export function isIndexed(kind: Kind): kind is IndexedKind {
  return (INDEXED_KINDS as readonly Kind[]).includes(kind);
}
