create index on plain.contracts (lead_entity_id, id);
create index on plain.contract_suppliers (supplier_id);
create index on plain.solicitations (lead_entity_id, status, id);
create index on plain.solicitations (lead_entity_id, id);
create index on plain.solicitations using gin (words);
-- Without these figures the planner takes every rare word for one in 200 records.
alter table plain.solicitations alter column words set statistics 1000;
vacuum analyze;
