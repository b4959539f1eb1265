import { objectSchema } from '../../http/openapi/openapi-schemas.ts';
import { filledText, id, servedProperties, type RecordOf } from '../fields.ts';

/** A line of a reference list's file. */
export const namedFields = {
  id: id('The id, for filters.', 'le_city_of_pittsburgh_d85d'),
  name: filledText('The name, for people.', 'City of Pittsburgh'),
};

export type NamedRecord = RecordOf<typeof namedFields>;

/** A reference list's record, also embedded in others. A schema's `$id` is its name in the OpenAPI document. */
export const namedRef = objectSchema(servedProperties(namedFields), {
  $id: 'NamedRef',
  description: 'A lead entity, cooperative or city service.',
});

export const LEAD_ENTITY_EXAMPLE = { id: 'le_city_of_pittsburgh_d85d', name: 'City of Pittsburgh' };
export const COOP_EXAMPLE = { id: 'co_costars_963a', name: 'COSTARS' };
export const CITY_SERVICE_EXAMPLE = { id: 'cs_adhesive_tape_1ae0', name: 'Adhesive tape' };
