import { randomBytes } from 'node:crypto';
import { createIndex, orderedText, type Migration } from '../../src/database/migrations/migration.ts';

export const partnersAndKeys: Migration = {
  number: 1,
  name: 'partners and keys',
  statements(engine) {
    const text = orderedText(engine);
    const identity = engine === 'sqlite' ? 'integer primary key' : 'bigint generated always as identity primary key';
    // SQLite's foreign keys stay within one file and name no schema.
    const partners = engine === 'sqlite' ? 'partners' : 'access.partners';
    return [
      `create table access.settings (name ${text} primary key, value text not null)`,
      // Authenticates cursors. Stored with the data, so that every process accepts the same ones, also after a restart.
      `insert into access.settings (name, value) values ('cursor_secret', '${randomBytes(32).toString('hex')}')`,
      `create table access.clock (
        id integer primary key check (id = 1),
        version bigint not null,
        last_instant ${text} not null,
        last_publication ${text} not null)`,
      `insert into access.clock (id, version, last_instant, last_publication)
        values (1, 1, '1970-01-01T00:00:00.000Z', '1970-01-01T00:00:00.000Z')`,
      `create table access.partners (
        id ${identity},
        name ${text} not null unique,
        everything_since ${text},
        grants_changed_at ${text} not null,
        suspended_at ${text},
        requests_per_minute integer,
        kinds text,
        created_at ${text} not null)`,
      `create table access.grants (
        partner_id bigint not null references ${partners} (id),
        kind text not null,
        resource_id ${text} not null,
        granted_at ${text} not null,
        primary key (partner_id, kind, resource_id))`,
      `create table access.keys (
        id ${text} primary key,
        partner_id bigint not null references ${partners} (id),
        digest ${text} not null,
        environment text not null,
        created_at ${text} not null,
        expires_at ${text},
        revoked_at ${text})`,
      createIndex(engine, 'access', 'keys', ['partner_id']),
    ];
  },
};
