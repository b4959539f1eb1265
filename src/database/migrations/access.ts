import { randomBytes, randomUUID } from 'node:crypto';
import { EPOCH } from '../../timestamp.ts';
import { statementsOf, type GroupSchema } from './schema.ts';

// SQLite's foreign keys stay within one file and name no schema. Cursors are authenticated with a secret that is stored
// with the data, so that every process accepts the same ones, also after a restart.
const tables = (partners: string): string => `
create table access.settings (name TEXT primary key, value text not null);
insert into access.settings (name, value) values ('cursor_secret', '${randomBytes(32).toString('hex')}');
create table access.clock (
  id integer primary key check (id = 1), version bigint not null, last_instant TEXT not null,
  last_publication TEXT not null, token TEXT not null default '');
insert into access.clock (id, version, last_instant, last_publication, token)
  values (1, 1, '${EPOCH}', '${EPOCH}', '${randomUUID()}');
create table access.revisions (version bigint primary key, token TEXT not null);
insert into access.revisions (version, token) select version, token from access.clock;
create table access.partners (
  id IDENTITY, name TEXT not null unique, everything_since TEXT, grants_changed_at TEXT not null, suspended_at TEXT,
  requests_per_minute integer, kinds text, created_at TEXT not null, deleted_at TEXT,
  narrowed_at TEXT not null default '${EPOCH}', narrowed_by TEXT not null default 'creation');
create table access.grants (
  partner_id bigint not null references ${partners} (id), kind text not null, resource_id TEXT not null,
  granted_at TEXT not null, primary key (partner_id, kind, resource_id));
create table access.grant_changes (
  partner_id bigint not null references ${partners} (id), instant TEXT not null, primary key (partner_id, instant));
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
`;

/** The tables of partners, keys and grants. */
export const accessSchema: GroupSchema = {
  number: 8,
  name: 'tables of partners and keys',
  create: (engine) => statementsOf(engine, tables(engine === 'sqlite' ? 'partners' : 'access.partners')),
  upgrade: null,
  oldestServed: 8,
};
