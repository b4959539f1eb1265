-- Gives two roles exactly the privileges that serving and commands need on the current tables, and on those that later
-- migrations add to catalog. Creates missing roles, without a password. Run it as the owner of the tables, in one
-- transaction: `pds roles` does, and so does
--   psql --single-transaction --set reader=pds_reader --set writer=pds_writer --file roles.sql
-- `pds roles` also sets the reader's settings of a serving connection, and records the change in the audit trail.

-- A block cannot see the variables of psql.
select set_config('pds.reader', :'reader', true), set_config('pds.writer', :'writer', true);

do $$
declare
  privileges constant jsonb := '{
    "reader": {
      "catalog.*": "select",
      "access.migrations": "select",
      "access.settings": "select, insert",
      "access.events": "select",
      "access.partners": "select",
      "access.grants": "select",
      "access.keys": "select",
      "access.usage": "select, insert, update, delete"
    },
    "writer": {
      "catalog.*": "select, insert, update, delete, maintain",
      "catalog.migrations": "select, maintain",
      "access.migrations": "select",
      "access.settings": "select, insert, update",
      "access.events": "select, insert, delete",
      "access.partners": "select, insert, update",
      "access.grants": "select, insert, delete",
      "access.keys": "select, insert, update",
      "access.usage": "select",
      "access.audit": "select, insert, delete"
    }
  }';
  tables_owner constant name := (
    select pg_get_userbyid(nspowner) from pg_namespace where nspname = 'access' and pg_has_role(nspowner, 'usage'));
  kind text;
  wanted jsonb;
  role name;
  place text;
  list text;
  more text;
begin
  if tables_owner is null then
    raise exception '% does not own the tables: run this as their owner, or as a superuser', current_user;
  end if;
  for kind, wanted in select * from jsonb_each(privileges) loop
    role := current_setting('pds.' || kind);
    if not exists (select from pg_roles where rolname = role) then
      if not (select rolsuper or rolcreaterole from pg_roles where rolname = current_user) then
        raise exception '% cannot create roles: have a superuser run "create role % login", and then this again; or run this as a superuser',
          current_user, quote_ident(role);
      end if;
      execute format('create role %I login', role);
    end if;

    execute format('grant usage on schema catalog, access to %I', role);
    execute format('revoke all on all tables in schema catalog, access from %I', role);
    -- `catalog.*` is first: it sorts before the tables.
    for place, list in select key, value from jsonb_each_text(wanted) order by key collate "C" loop
      if current_setting('server_version_num')::int < 170000 then
        list := replace(list, ', maintain', '');
      end if;
      if place = 'catalog.*' then
        execute format('grant %s on all tables in schema catalog to %I', list, role);
        execute format('alter default privileges for role %I in schema catalog grant %s on tables to %I',
          tables_owner, list, role);
      else
        execute format('revoke all on %s from %I', place, role);
        execute format('grant %s on %s to %I', list, place, role);
      end if;
    end loop;
    -- Only if it lacks that, since only the database's owner can grant it, and everyone has it by default.
    if not has_database_privilege(role, current_database(), 'connect') then
      execute format('grant connect on database %I to %I', current_database(), role);
    end if;
  end loop;

  -- Only now: a role can inherit from the other.
  for kind, wanted in select * from jsonb_each(privileges) loop
    role := current_setting('pds.' || kind);
    select string_agg(power, ', ') into more from (
      select unnest(array_remove(array[
        case when rolsuper then 'is a superuser' end,
        case when rolcreaterole then 'can create roles' end,
        case when rolreplication then 'can replicate' end,
        case when rolbypassrls then 'bypasses row security' end,
        case when pg_has_role(rolname, tables_owner, 'member') then 'belongs to the owner of the tables' end,
        case when has_schema_privilege(rolname, 'catalog', 'create')
          or has_schema_privilege(rolname, 'access', 'create') then 'can create tables' end], null)) as power
      from pg_roles where rolname = role
      union all (
        select format('can %s %s', privilege, name_of) from pg_class
        cross join unnest(array['select', 'insert', 'update', 'delete', 'truncate']) as privilege
        cross join lateral (select relnamespace::regnamespace || '.' || relname) as named (name_of)
        where relkind in ('r', 'p', 'v', 'm')
          and relnamespace in ('catalog'::regnamespace, 'access'::regnamespace)
          and has_table_privilege(role, pg_class.oid, privilege)
          and privilege <> all (string_to_array(
            coalesce(wanted ->> name_of, wanted ->> regexp_replace(name_of, '\..*', '.*'), ''), ', '))
        order by 1)
      limit 5) as excess;
    if more is not null then
      raise exception 'the role % has more privileges than it should: it %. Choose another name, or revoke that from it, from its roles, and from public. Nothing was changed',
        role, more;
    end if;
  end loop;
end $$;
