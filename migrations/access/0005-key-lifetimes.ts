import { orderedText, type Migration } from '../../src/database/migrations/migration.ts';

/**
 * Stores the expiry that a key was issued with, separately from `expires_at`, which a rotation brings forward. Servers
 * of the previous version read only `expires_at`, which still decides.
 *
 * For keys rotated before, the expiry comes from the audit trail; if it is no longer there, from `expires_at`.
 */
export const keyLifetimes: Migration = {
  number: 5,
  name: 'key lifetimes',
  isAdditive: true,
  statements(engine) {
    const text = orderedText(engine);
    const detail = (name: string): string =>
      engine === 'sqlite' ? `details ->> '${name}'` : `details::json ->> '${name}'`;
    return [
      `alter table access.keys add column issued_expires_at ${text}`,
      `alter table access.keys add column replaced_by ${text}`,
      `update access.keys set issued_expires_at = expires_at`,
      `update access.keys set replaced_by = rotation.replaced_by
        from (
          select key_id, ${detail('replaced_by')} as replaced_by,
            row_number() over (partition by key_id order by id desc) as place
          from access.audit where action = 'key rotate'
        ) as rotation
        where rotation.key_id = keys.id and rotation.place = 1`,
      `update access.keys set issued_expires_at = issue.expires_at
        from (
          select key_id, expires_at, row_number() over (partition by key_id order by id) as place
          from (
            select id, key_id, ${detail('expires_at')} as expires_at from access.audit where action = 'key issue'
            union all
            select id, ${detail('replaced_by')}, ${detail('expires_at')} from access.audit where action = 'key rotate'
          ) as issued
        ) as issue
        where issue.key_id = keys.id and issue.place = 1 and keys.replaced_by is not null`,
    ];
  },
};
