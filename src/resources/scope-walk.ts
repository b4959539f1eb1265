import type { Engine } from '../database/database.ts';
import { listSlot } from '../database/statement.ts';
import type { SearchMode } from '../search/search-plan.ts';
import type { Condition } from './conditions.ts';
import { publicationsSince, type EachWalk } from './record-walk.ts';
import { isNewSince, isVisible, type OwnedRow, type ScopeShape } from './scope-sql.ts';

/** What decides how the scope and `updated_since` are applied to a walk. */
export interface ScopeWalkShape extends ScopeShape {
  readonly search: SearchMode | 'none';
  /** Whether the publications since `updated_since` are few enough for a walk each. */
  readonly byPublication: boolean;
  /** Whether a filter leaves one lead entity or coop, whose index is walked. */
  readonly isOfOneOwner: boolean;
}

/**
 * Scope and `updated_since`: as conditions on each record, or by ordered walks that meet no
 * records but those.
 */
export function walkScope(
  engine: Engine,
  row: OwnedRow,
  shape: ScopeWalkShape,
): { conditions: (Condition | null)[]; each: EachWalk[] } {
  const { everything, since, search, byPublication, isOfOneOwner } = shape;
  const visible = isVisible(engine, shape, row);
  const fresh = isNewSince(engine, shape, row);
  if (search === 'index' || search === 'entries') return { conditions: [visible, fresh], each: [] };
  if (since !== 'all' && byPublication) {
    const changed = { values: publicationsSince, column: 'changed_publication', conditions: [visible] };
    return { conditions: [], each: since === 'changed' ? [changed] : [changed, ...byOwner(engine, row, 'new_', [])] };
  }
  if (everything || isOfOneOwner) return { conditions: [visible, fresh], each: [] };
  return { conditions: [], each: byOwner(engine, row, '', [fresh]) };
}

function byOwner(
  engine: Engine,
  { hasCoop }: OwnedRow,
  prefix: '' | 'new_',
  conditions: readonly (Condition | null)[],
): EachWalk[] {
  const ofLeadEntities = { values: listSlot(engine, `${prefix}lead_entities`), column: 'lead_entity_id', conditions };
  const ofCoops = { values: listSlot(engine, `${prefix}coops`), column: 'coop_id', conditions };
  return hasCoop ? [ofLeadEntities, ofCoops] : [ofLeadEntities];
}
