import { randomBytes } from 'node:crypto';
import { EPOCH } from '../../timestamp.ts';
import type { Engine } from '../database.ts';
import { statementsOf, type GroupSchema } from './schema.ts';

/** `partner_id` is null in releases and resets. Most logs have no reset, which must not mean reading all releases. */
const log = (partners: string): string => `
create table access.events (
  at TEXT primary key, token TEXT not null, what TEXT not null, partner_id bigint references ${partners} (id),
  narrows TEXT, release bigint not null, file text, made_from bigint);
index access.events (at) where partner_id is null;
index access.events (what, at) where partner_id is null;
index access.events (partner_id, at) where what = 'scope';
index access.events (partner_id, what, at) where narrows is not null;
`;

/**
 * Fills the log with what version 1.3 stored. A listing of changes since `complete_before` or earlier was complete: the
 * log begins there, with the number of the release at that time or before. Each later release and change of grants is an
 * event, so watermarks stay known.
 */
const FILL_LOG = `
insert into access.events (at, token, what, release)
  select complete_before, RANDOM, 'release',
    coalesce((select max(number) from catalog.publications where instant <= complete_before), 0)
  from catalog.feed where complete_before > '${EPOCH}';
insert into access.events (at, token, what, release)
  select instant, token, 'release', number from catalog.publications cross join catalog.feed
  where instant > complete_before;
insert into access.events (at, token, what, partner_id, narrows, release)
  select changed.at, RANDOM, 'scope', partner.id, case when partner.narrowed_at = changed.at then partner.narrowed_by end,
    coalesce((select max(number) from catalog.publications where instant < changed.at), 0)
  from (
    select partner_id, instant as at from access.grant_changes
    union select id, grants_changed_at from access.partners
    union select id, narrowed_at from access.partners) as changed
  inner join access.partners as partner on partner.id = changed.partner_id
  cross join catalog.feed
  where changed.at > complete_before;
`;

const DROP_FORMER = `
drop table access.grant_changes;
drop table access.revisions;
drop table access.clock;
alter table access.partners drop column grants_changed_at;
alter table access.partners drop column narrowed_at;
alter table access.partners drop column narrowed_by;
`;

/** The recorded timeline has the OID of a table; see `timeline.ts`. One that has changed already stays different. */
const MOVE_TIMELINE = `
update access.settings set value = regexp_replace(value, '/[0-9]+$', '/' || 'access.events'::regclass::oid)
  where name = 'history' and value like '%/' || 'access.clock'::regclass::oid`;

const upgrade = (engine: Engine): string[] => {
  const isSqlite = engine === 'sqlite';
  const random = isSqlite ? 'lower(hex(randomblob(16)))' : 'gen_random_uuid()::text';
  return [
    ...statementsOf(engine, log(isSqlite ? 'partners' : 'access.partners')),
    ...statementsOf(engine, FILL_LOG).map((statement) => statement.replaceAll('RANDOM', random)),
    ...(isSqlite ? [] : statementsOf(engine, MOVE_TIMELINE)),
    ...statementsOf(engine, DROP_FORMER),
  ];
};

// SQLite's foreign keys stay within one file and name no schema. Cursors are authenticated with a secret that is stored
// with the data, so that every process accepts the same ones, also after a restart.
const tables = (partners: string): string => `
create table access.settings (name TEXT primary key, value text not null);
insert into access.settings (name, value) values ('cursor_secret', '${randomBytes(32).toString('hex')}');
create table access.partners (
  id IDENTITY, name TEXT not null unique, everything_since TEXT, suspended_at TEXT, requests_per_minute integer,
  kinds text, created_at TEXT not null, deleted_at TEXT);
create table access.grants (
  partner_id bigint not null references ${partners} (id), kind text not null, resource_id TEXT not null,
  granted_at TEXT not null, primary key (partner_id, kind, resource_id));
create table access.keys (
  id TEXT primary key, partner_id bigint not null references ${partners} (id), digest TEXT not null,
  environment text not null, created_at TEXT not null, expires_at TEXT, revoked_at TEXT, issued_expires_at TEXT,
  replaced_by TEXT, label text);
index access.keys (partner_id);
create table access.usage (
  day TEXT not null, partner_id bigint not null, key_id TEXT not null, endpoint TEXT not null, requests bigint not null,
  records bigint not null, limited bigint not null, failed bigint not null,
  primary key (day, partner_id, key_id, endpoint));
create table access.audit (
  id IDENTITY, at TEXT not null, actor TEXT not null, action TEXT not null, partner TEXT, key_id TEXT,
  details text not null);
index access.audit (at);
${log(partners)}`;

/** The tables of partners, keys and grants. */
export const accessSchema: GroupSchema = {
  number: 9,
  name: 'tables of partners and keys',
  create: (engine) => statementsOf(engine, tables(engine === 'sqlite' ? 'partners' : 'access.partners')),
  upgrade: { name: 'log of events', from: 8, statements: upgrade },
  oldestServed: 9,
};
