import { sql, type RawBuilder, type SqlBool } from 'kysely';
import type { Engine, ParameterValues } from '../../database/database.ts';
import { isInList, parameter } from '../../database/statement.ts';
import type { IndexedKind, Kind, NamedRefKind } from '../../kinds.ts';
import type { Scope } from '../scope.ts';
import { hasDrafts, OWNER_KINDS, OWNERS, RULES, shownBy, type Owner, type Shown } from './rules.ts';

/* The scope in statements that do not use the index. */

/** Part of the statement key: partners that see all records of a kind have statements of their own. */
type ScopeKey = 'everything' | 'granted';

export function scopeKey(kind: Kind, { everythingSince }: Scope): ScopeKey {
  return RULES[kind] === null || everythingSince !== null ? 'everything' : 'granted';
}

/** The parameters of the conditions below. */
export function scopeValues(scope: Scope): ParameterValues {
  const ids = OWNER_KINDS.map((owner) => [OWNERS[owner].parameter, [...scope[OWNERS[owner].grants].keys()]]);
  return Object.fromEntries(ids) as ParameterValues;
}

/** Whether a partner can see the `record` of a kind at all; null if the kind has no drafts. */
export function isServed(kind: IndexedKind): RawBuilder<SqlBool> | null {
  return hasDrafts(kind) ? sql<SqlBool>`record.status <> 'draft'` : null;
}

/** Whether the scope includes the `record` of a kind. For suppliers, the parameter `id` must be the record's id. */
export function isVisible(engine: Engine, kind: IndexedKind, key: ScopeKey): RawBuilder<SqlBool> {
  const served = isServed(kind);
  if (key === 'everything') return served ?? sql<SqlBool>`1 = 1`;
  const granted = anyOf(shownBy(kind).map(([owner, records]) => isShown(engine, owner, records)));
  return served === null ? granted : sql<SqlBool>`${served} and ${granted}`;
}

function isShown(engine: Engine, owner: Owner, records: Shown): RawBuilder<SqlBool> {
  const { suppliers } = OWNERS[owner];
  // Compares with the parameter rather than the row's id; otherwise PostgreSQL can collect all suppliers of all grants
  // first.
  return records === 'named'
    ? sql<SqlBool>`exists (select 1 from ${sql.raw(suppliers)} as path
      where path.supplier_id = ${parameter('id')} and ${isGranted(engine, owner, 'path')})`
    : isGranted(engine, owner, 'record');
}

/** The ids in the parameter `ids` that the scope shows. Served by the unique indexes on id. */
export function visibleIds(engine: Engine, kind: IndexedKind, key: ScopeKey): RawBuilder<{ id: string }> {
  if (kind !== 'suppliers' || key === 'everything') {
    return sql<{ id: string }>`select record.id from ${sql.table(`catalog.${kind}`)} as record
      where ${isInList(engine, sql.ref('record.id'), 'ids')} and ${isVisible(engine, kind, key)}`;
  }
  const named = shownBy(kind).map(([owner]) => {
    const { suppliers, column, parameter: list } = OWNERS[owner];
    return sql`select supplier_id as id from ${sql.raw(suppliers)}
      where ${isInList(engine, sql.ref('supplier_id'), 'ids')} and ${isInList(engine, sql.ref(column), list)}`;
  });
  return sql<{ id: string }>`${sql.join(named, sql` union `)}`;
}

/**
 * Whether the scope includes the `named` record of a reference list: granted, or named by a contract that another grant
 * shows, which is one lookup for each granted owner.
 */
export function isListed(engine: Engine, kind: NamedRefKind, key: ScopeKey): RawBuilder<SqlBool> {
  if (key === 'everything') return sql<SqlBool>`1 = 1`;
  const self = shownBy(kind).find(([, records]) => records === 'itself')?.[0];
  if (self === undefined) throw new Error(`no grant shows ${kind}`);
  return anyOf(
    shownBy(kind).map(([owner]) =>
      owner === self
        ? isInList(engine, sql.ref('named.id'), OWNERS[self].parameter)
        : sql<SqlBool>`exists (select 1 from catalog.contracts as contract
      where ${sql.ref(`contract.${OWNERS[self].column}`)} = named.id and ${isGranted(engine, owner, 'contract')})`,
    ),
  );
}

/** The number of records of a kind that the grant of an owner shows, up to `max`, by the index on the owner's column. */
export function countShown(kind: IndexedKind, owner: Owner, id: RawBuilder<unknown>, max: number): RawBuilder<number> {
  const shown = shownBy(kind).find(([each]) => each === owner)?.[1];
  if (shown === undefined) return sql<number>`0`;
  const { column, suppliers } = OWNERS[owner];
  const served = isServed(kind);
  return sql<number>`(select count(*) from (
    select 1 from ${sql.table(shown === 'named' ? suppliers : `catalog.${kind}`)} as record
    where ${sql.ref(`record.${column}`)} = ${id}${served === null ? sql`` : sql` and ${served}`}
    limit ${sql.lit(max)}) as shown)`;
}

function isGranted(engine: Engine, owner: Owner, row: string): RawBuilder<SqlBool> {
  const { column, parameter: list } = OWNERS[owner];
  return isInList(engine, sql.ref(`${row}.${column}`), list);
}

/** Without conditions the statement is invalid, so it fails rather than shows something. */
function anyOf(conditions: readonly RawBuilder<SqlBool>[]): RawBuilder<SqlBool> {
  const [only] = conditions;
  return conditions.length === 1 && only !== undefined ? only : sql<SqlBool>`(${sql.join(conditions, sql` or `)})`;
}
