import { STATES } from '../../us-states.ts';
import { filledText, id, nullable, object, set, text, timestamp, type CompletedOf, type Field } from '../fields.ts';
import { compareBytewise } from '../../bytewise.ts';
import { withoutClosingBrace } from '../finished-text.ts';

const state: Field<string> = {
  ...text,
  enum: [...STATES],
  description: 'must be a USPS two-letter state code in capitals',
};

/** A line of `suppliers.ndjson`. */
export const supplierFields = object(
  {
    id,
    name: filledText,
    short_intro: nullable(text),
    about: nullable(text),
    states_served: set(state, 'PA', { isSorted: true }),
    certifications: set(text, 'MBE', { isSorted: true }),
    city_service_ids: set(text, 'cs_1', { isSorted: true }),
    location: nullable(text),
    logo: nullable(text),
    email: nullable(text),
    website: nullable(text),
    updated_at: timestamp,
  },
  ['updated_at'],
);

/** Validated and completed: every field is present, timestamps are normalized. */
export type SupplierRecord = CompletedOf<typeof supplierFields>;

/** Lists return this many certifications of each type, and more of one type if the other has fewer. */
const PREVIEW_OF_EACH_TYPE = 5;

/** Renders the supplier as embedded in contracts, without its closing brace: the supplier endpoints add fields. */
export function renderSupplier(supplier: SupplierRecord): string {
  const { id, name, states_served, location, logo, email, website } = supplier;
  return withoutClosingBrace(JSON.stringify({ id, name, states_served, location, logo, email, website }));
}

interface HeldCertification {
  abbreviation: string;
  type: 'sbe' | 'technical';
}

/**
 * Renders a supplier's certifications as JSON arrays of abbreviations, `sbe` before `technical` and alphabetical within
 * each: `all` for the detail, `preview` for lists.
 */
export function renderCertifications(held: readonly HeldCertification[]): { all: string; preview: string } {
  const [sbe, technical] = (['sbe', 'technical'] as const).map((type) =>
    held
      .filter((certification) => certification.type === type)
      .map(({ abbreviation }) => abbreviation)
      .sort(compareBytewise),
  ) as [string[], string[]];
  const size = 2 * PREVIEW_OF_EACH_TYPE;
  const shownSbe = Math.min(sbe.length, Math.max(PREVIEW_OF_EACH_TYPE, size - technical.length));
  return {
    all: JSON.stringify([...sbe, ...technical]),
    preview: JSON.stringify([...sbe.slice(0, shownSbe), ...technical.slice(0, size - shownSbe)]),
  };
}
