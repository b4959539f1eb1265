import { randomBytes, randomUUID } from 'node:crypto';
import { EPOCH } from '../../timestamp.ts';
import { createIndex, orderedText, type GroupSchema } from './migration.ts';

/** The tables of partners, keys and grants. */
export const accessSchema: GroupSchema = {
  creation: {
    number: 8,
    name: 'tables of partners and keys',
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
          last_publication ${text} not null,
          token ${text} not null default '')`,
        `insert into access.clock (id, version, last_instant, last_publication, token)
          values (1, 1, '1970-01-01T00:00:00.000Z', '1970-01-01T00:00:00.000Z', '${randomUUID()}')`,
        `create table access.partners (
          id ${identity},
          name ${text} not null unique,
          everything_since ${text},
          grants_changed_at ${text} not null,
          suspended_at ${text},
          requests_per_minute integer,
          kinds text,
          created_at ${text} not null,
          deleted_at ${text}, ${narrowing(text).join(', ')})`,
        `create table access.grants (
          partner_id bigint not null references ${partners} (id),
          kind text not null,
          resource_id ${text} not null,
          granted_at ${text} not null,
          primary key (partner_id, kind, resource_id))`,
        `create table access.grant_changes (
          partner_id bigint not null references ${partners} (id),
          instant ${text} not null,
          primary key (partner_id, instant))`,
        `create table access.keys (
          id ${text} primary key,
          partner_id bigint not null references ${partners} (id),
          digest ${text} not null,
          environment text not null,
          created_at ${text} not null,
          expires_at ${text},
          revoked_at ${text},
          issued_expires_at ${text},
          replaced_by ${text},
          label text)`,
        createIndex(engine, 'access', 'keys', ['partner_id']),
        `create table access.usage (
          day ${text} not null,
          partner_id bigint not null,
          key_id ${text} not null,
          endpoint ${text} not null,
          requests bigint not null,
          records bigint not null,
          limited bigint not null,
          failed bigint not null,
          primary key (day, partner_id, key_id, endpoint))`,
        `create table access.audit (
          id ${identity},
          at ${text} not null,
          actor ${text} not null,
          action ${text} not null,
          partner ${text},
          key_id ${text},
          details text not null)`,
        createIndex(engine, 'access', 'audit', ['at']),
      ];
    },
  },
  upgrade: {
    number: 8,
    name: 'when partners saw fewer records',
    from: [7],
    check: () => Promise.resolve(),
    statements: (engine) => [
      ...narrowing(orderedText(engine)).map((column) => `alter table access.partners add column ${column}`),
      // Version 1.2 did not record which grants ended. An earlier timestamp than the next watermark, which follows it.
      `update access.partners set narrowed_by = 'upgrade', narrowed_at = grants_changed_at`,
    ],
  },
  oldestServed: 7,
};

/** The columns that version 1.2 had not. SQLite appends what it adds to the text of the table's definition. */
function narrowing(text: string): string[] {
  return [`narrowed_at ${text} not null default '${EPOCH}'`, `narrowed_by text not null default 'creation'`];
}
