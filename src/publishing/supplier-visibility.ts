import { sql } from 'kysely';
import type { Database } from '../database/database.ts';

const PATHS = [
  { table: 'supplier_lead_entities', column: 'lead_entity_id' },
  { table: 'supplier_coops', column: 'coop_id' },
] as const;

/**
 * Brings up to date which suppliers each lead entity and coop makes visible through a contract.
 * A pair that was there keeps the publication since which it is; one that is new gets this one,
 * so that a sync finds a supplier which a contract came to name. Reads all contracts: called
 * only where one changed.
 */
export async function updateSupplierVisibility({ kysely }: Database, publication: number): Promise<void> {
  for (const { table, column } of PATHS) {
    const path = sql.table(`catalog.${table}`);
    const granted = sql.ref(column);
    await sql`insert into ${path} (${granted}, supplier_id, since_publication)
      select distinct contract.${granted}, named.supplier_id, ${sql.lit(publication)}
      from catalog.contract_suppliers as named
      join catalog.contracts as contract on contract.id = named.contract_id
      where contract.${granted} is not null and not exists (
        select 1 from ${path} as known
        where known.supplier_id = named.supplier_id and known.${granted} = contract.${granted})`.execute(kysely);
    // The difference of two sets is computed once, whatever the planner knows of the tables' sizes.
    await sql`delete from ${path} where (${granted}, supplier_id) in (
        select ${granted}, supplier_id from ${path}
        except
        select contract.${granted}, named.supplier_id
        from catalog.contract_suppliers as named
        join catalog.contracts as contract on contract.id = named.contract_id)`.execute(kysely);
  }
}
