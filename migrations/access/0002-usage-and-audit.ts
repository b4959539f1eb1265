import { createIndex, orderedText, type Migration } from '../../src/database/migrations/migration.ts';

/** Requests of partners per day, and actions of operators. */
export const usageAndAudit: Migration = {
  number: 2,
  name: 'usage and audit',
  isAdditive: true,
  statements(engine) {
    const text = orderedText(engine);
    const identity = engine === 'sqlite' ? 'integer primary key' : 'bigint generated always as identity primary key';
    return [
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
};
