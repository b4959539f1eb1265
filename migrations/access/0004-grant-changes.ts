import { orderedText, type Migration } from '../../src/database/migrations/migration.ts';

/** Copies the privileges on grants, so that services need no new ones before they are upgraded. */
const PRIVILEGES = `do $$
  declare privilege record;
  begin
    for privilege in
      select privilege_type as type, case grantee when 'PUBLIC' then grantee::text else quote_ident(grantee) end as role
      from information_schema.table_privileges
      where table_schema = 'access' and table_name = 'grants' and privilege_type in ('SELECT', 'INSERT')
    loop
      execute format('grant %s on access.grant_changes to %s', privilege.type, privilege.role);
    end loop;
  end $$`;

/**
 * Records when a partner's grants changed. Together with the publications, this distinguishes watermarks from other
 * timestamps.
 */
export const grantChanges: Migration = {
  number: 4,
  name: 'grant changes',
  isAdditive: true,
  statements(engine) {
    const partners = engine === 'sqlite' ? 'partners' : 'access.partners';
    return [
      `create table access.grant_changes (
        partner_id bigint not null references ${partners} (id),
        instant ${orderedText(engine)} not null,
        primary key (partner_id, instant))`,
      // Earlier revocations, and grants before them, are not recorded. A watermark of one of these is read as five
      // seconds earlier, once, unless it is the last.
      `insert into access.grant_changes (partner_id, instant)
        select id, grants_changed_at from access.partners where grants_changed_at > '1970-01-01T00:00:00.000Z'
        union select id, everything_since from access.partners where everything_since is not null
        union select partner_id, granted_at from access.grants`,
      ...(engine === 'postgres' ? [PRIVILEGES] : []),
    ];
  },
};
