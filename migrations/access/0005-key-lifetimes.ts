import { orderedText, type Migration } from '../../src/database/migration.ts';

/**
 * Keeps the life that a key was issued with apart from `expires_at`, which a rotation brings
 * forward. Servers of the version before look at `expires_at` alone, which still decides.
 *
 * Of keys that were rotated before, the audit trail knows the life; if it no longer does, their
 * `expires_at` is taken for it.
 */
export const keyLifetimes: Migration = {
  number: 5,
  name: 'key lifetimes',
  isAdditive: true,
  statements(engine) {
    const text = orderedText(engine);
    const detail = (name: string): string =>
      engine === 'sqlite' ? `details ->> '${name}'` : `details::json ->> '${name}'`;
    const issued = `from access.audit where (action = 'key issue' and key_id = keys.id)
      or (action = 'key rotate' and ${detail('replaced_by')} = keys.id)`;
    return [
      `alter table access.keys add column issued_expires_at ${text}`,
      `alter table access.keys add column replaced_by ${text}`,
      `update access.keys set issued_expires_at = expires_at, replaced_by = (select ${detail('replaced_by')}
        from access.audit where action = 'key rotate' and key_id = keys.id order by id desc limit 1)`,
      `update access.keys set issued_expires_at = (select ${detail('expires_at')} ${issued} order by id limit 1)
        where replaced_by is not null and exists (select 1 ${issued})`,
    ];
  },
};
