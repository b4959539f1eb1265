import { randomBytes } from 'node:crypto';
import { statementsOf, type GroupSchema } from './schema.ts';

// SQLite's foreign keys stay within one file and name no schema. Cursors are authenticated with a secret that is stored
// with the data, so that every process accepts the same ones, also after a restart. Events have an index by `what`, since
// most logs have no reset, which must not mean reading all releases.
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
create table access.events (
  at TEXT primary key, token TEXT not null, what TEXT not null, partner_id bigint references ${partners} (id),
  narrows TEXT, release bigint not null, file text, made_from bigint);
index access.events (at) where partner_id is null;
index access.events (what, at) where partner_id is null;
index access.events (partner_id, at) where what = 'scope';
index access.events (partner_id, what, at) where narrows is not null;
`;

/** The tables of partners, keys and grants. */
export const accessSchema: GroupSchema = {
  number: 9,
  name: 'tables of partners and keys',
  create: (engine) => statementsOf(engine, tables(engine === 'sqlite' ? 'partners' : 'access.partners')),
  upgrade: null,
  oldestServed: 9,
};
