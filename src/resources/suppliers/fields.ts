import { STATES } from '../../us-states.ts';
import { filledText, id, nullable, object, set, text, timestamp, type CompletedOf, type Field } from '../fields.ts';

const state: Field<string> = {
  ...text,
  enum: [...STATES],
  description: 'must be a USPS two-letter state code in capitals',
};

/** A line of `suppliers.ndjson`. The order of the fields is that of the stored record, whose hash depends on it. */
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
