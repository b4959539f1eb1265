import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { formerName } from '../access/partner-lifecycle.ts';
import {
  SQLITE_CORRUPT,
  SQLITE_ERROR,
  SQLITE_IOERR,
  SQLITE_NOTADB,
  sqliteCode,
} from '../database/sqlite/sqlite-errors.ts';

/** Restrictions made since the backup, which the restore preserves. */
export interface PreservedRestrictions {
  /** Public ids of revoked keys. */
  readonly revokedKeys: readonly string[];
  /** Public ids of keys that expire sooner than in the backup, because they were rotated. */
  readonly shortenedKeys: readonly string[];
  /** The former names of deleted partners. */
  readonly deletedPartners: readonly string[];
  /** New names. */
  readonly renamedPartners: readonly string[];
  /** Names of partners. */
  readonly suspendedPartners: readonly string[];
  /** Names of partners restricted to fewer kinds of resource. */
  readonly narrowedPartners: readonly string[];
  /** Grants, as `acme: lead_entity le_1`, `acme: everything`. */
  readonly revokedGrants: readonly string[];
}

/** Access granted since the backup, which the restore loses. */
export interface LostAccess {
  /** Names of partners. */
  readonly partners: readonly string[];
  /** Keys not revoked, as `id of partner`. */
  readonly keys: readonly string[];
  /** In the same form as `revokedGrants`. */
  readonly grants: readonly string[];
}

/** Errors for a missing table, and for damage, which can show anywhere. */
const UNREADABLE = [SQLITE_ERROR, SQLITE_IOERR, SQLITE_CORRUPT, SQLITE_NOTADB];

/** Identifies the same partner in both: an id alone may have been assigned again after an earlier restore. */
const SAME_PARTNER = 'was.id = kept.id and was.created_at = kept.created_at';

/** A schema's grants, including `everything`, with their partners' names. */
const grantsOf = (schema: string): string => `
  select partner.id, partner.name, granted.kind, granted.resource_id
    from ${schema}.grants as granted join ${schema}.partners as partner on partner.id = granted.partner_id
  union all select id, name, 'everything', '' from ${schema}.partners where everything_since is not null`;

/**
 * Copies into a restored database what the restore must not undo: restrictions of partners since the backup, which must
 * not be lifted by accident, and the audit trail and usage, since those actions did happen. Access granted since is
 * only listed.
 *
 * @param connection on the `access` file of the replaced database.
 * @param restoredPath the `access` file of the restored database, with its schema up to date.
 * @returns null if the replaced database cannot be read, or is not the one that was backed up.
 */
export function preserveRestrictions(
  connection: DatabaseSync,
  restoredPath: string,
): { preserved: PreservedRestrictions; lost: LostAccess } | null {
  const list = (text: string, ...values: SQLInputValue[]): string[] =>
    connection
      .prepare(text)
      .all(...values)
      .map((row) => String(Object.values(row)[0]));
  connection.prepare('attach ? as restored').run(restoredPath);
  try {
    connection.exec('begin');
    if (list(IS_SAME_DATABASE).length === 0) return null;
    // Before the rest, which compares and reports names.
    const deletedPartners = deletePartners(connection, list);
    const renamedPartners = renamePartners(connection, list);
    const lost = {
      partners: list(
        `select name from partners where name not like '%#%' except select name from restored.partners order by 1`,
      ),
      keys: list(LOST_KEYS),
      grants: list(`${showGrants('main')} except ${showGrants('restored')} order by 1`),
    };
    const preserved = {
      revokedKeys: list(REVOKE_KEYS),
      shortenedKeys: list(SHORTEN_KEYS),
      ...{ deletedPartners, renamedPartners },
      suspendedPartners: list(SUSPEND_PARTNERS),
      narrowedPartners: narrowKinds(connection),
      revokedGrants: revokeGrants(connection, list),
    };
    for (const [table, statement] of Object.entries(WHAT_HAPPENED)) {
      // A database of an older version lacks this table.
      if (list('select 1 from main.sqlite_schema where name = ?', table).length > 0) connection.exec(statement);
    }
    connection.exec('commit');
    return { preserved, lost };
  } catch (error) {
    // Then nothing is preserved.
    if (UNREADABLE.includes(sqliteCode(error) ?? -1)) return null;
    throw error;
  } finally {
    if (connection.isTransaction) connection.exec('rollback');
    connection.exec('detach restored');
  }
}

/** The cursor secret is created once per database and is the same in every copy of it. */
const IS_SAME_DATABASE = `
  select 1 from main.settings as was join restored.settings as kept on was.value = kept.value
  where was.name = 'cursor_secret' and kept.name = 'cursor_secret'`;

const LOST_KEYS = `
  select was.id || ' of ' || partner.name from main.keys as was join main.partners as partner on partner.id = was.partner_id
  where was.revoked_at is null and was.id not in (select id from restored.keys) order by 1`;

const REVOKE_KEYS = `
  update restored.keys as kept set revoked_at = was.revoked_at from main.keys as was
  where was.id = kept.id and was.digest = kept.digest and was.revoked_at is not null and kept.revoked_at is null
  returning id`;

const SHORTEN_KEYS = `
  update restored.keys as kept set expires_at = was.expires_at from main.keys as was
  where was.id = kept.id and was.digest = kept.digest and was.revoked_at is null
    and was.expires_at < coalesce(kept.expires_at, '9999')
  returning id`;

const SUSPEND_PARTNERS = `
  update restored.partners as kept set suspended_at = was.suspended_at from main.partners as was
  where ${SAME_PARTNER} and was.suspended_at is not null and kept.suspended_at is null and kept.deleted_at is null
  returning name`;

const WHAT_HAPPENED = {
  // Not by id: the migration of an older backup has added an entry of its own.
  audit: `
    insert into restored.audit (at, actor, action, partner, key_id, details)
    select at, actor, action, partner, key_id, details from main.audit as was
    where not exists (select 1 from restored.audit as kept where kept.at = was.at
      and (kept.actor, kept.action, kept.partner, kept.key_id, kept.details)
        is (was.actor, was.action, was.partner, was.key_id, was.details))
    order by id`,
  // Counts only grow, so the later database has the complete ones.
  usage: `
    insert into restored.usage (day, partner_id, key_id, endpoint, requests, records, limited, failed)
    select day, partner_id, key_id, endpoint, requests, records, limited, failed from main.usage
    where partner_id in (select was.id from main.partners as was join restored.partners as kept on ${SAME_PARTNER})
    on conflict (day, partner_id, key_id, endpoint) do update set
      requests = excluded.requests, records = excluded.records, limited = excluded.limited, failed = excluded.failed`,
};

/** Deletes partners that are deleted in the replaced database; see `deletePartner`. */
function deletePartners(connection: DatabaseSync, list: (text: string) => string[]): string[] {
  // A database of an older version lacks the column.
  if (list(`select 1 from pragma_table_info('partners', 'main') where name = 'deleted_at'`).length === 0) return [];
  const deleted = list(`
    update restored.partners as kept set name = was.name, everything_since = null, deleted_at = was.deleted_at
    from main.partners as was where ${SAME_PARTNER} and was.deleted_at is not null and kept.deleted_at is null
    returning name`);
  connection.exec(`
    delete from restored.grants where partner_id in (select id from restored.partners where deleted_at is not null);
    update restored.keys as kept set revoked_at = partner.deleted_at from restored.partners as partner
      where partner.id = kept.partner_id and partner.deleted_at is not null and kept.revoked_at is null`);
  return deleted.map(formerName);
}

/**
 * Gives partners the names that they have in the replaced database. In two steps, since they can have exchanged names.
 * A partner that only the backup has, and whose name was given to another since, stays with a `#` and its id appended.
 */
function renamePartners(connection: DatabaseSync, list: (text: string) => string[]): string[] {
  const ids = list(`
    update restored.partners as kept set name = kept.name || '#' || kept.id
    where kept.deleted_at is null and exists (select 1 from main.partners as was
      where iif(${SAME_PARTNER}, was.name <> kept.name, lower(was.name) = lower(kept.name)))
    returning id`);
  connection.exec(`
    update restored.partners as kept set name = was.name from main.partners as was
      where ${SAME_PARTNER} and kept.deleted_at is null and kept.name like '%#%'`);
  return list(`select name from restored.partners where id in (${ids.join(', ')}) order by name`);
}

function showGrants(schema: string): string {
  return `select name || ': ' || trim(kind || ' ' || resource_id) from (${grantsOf(schema)})`;
}

/** Removes grants that only the backup has, for partners in both databases. */
function revokeGrants(connection: DatabaseSync, list: (text: string) => string[]): string[] {
  const lost = `
    select id, name, kind, resource_id from (${grantsOf('restored')})
    where id in (select kept.id from restored.partners as kept join main.partners as was on ${SAME_PARTNER})
    except select id, name, kind, resource_id from (${grantsOf('main')})`;
  connection.exec(`create temp table lost_grants as ${lost}`);
  connection.exec(`
    delete from restored.grants
      where (partner_id, kind, resource_id) in (select id, kind, resource_id from temp.lost_grants);
    update restored.partners set everything_since = null
      where id in (select id from temp.lost_grants where kind = 'everything')`);
  const shown = list(`select name || ': ' || trim(kind || ' ' || resource_id) from temp.lost_grants order by 1`);
  connection.exec('drop table temp.lost_grants');
  return shown;
}

/** Restricts each partner to the kinds that both databases allow it. */
function narrowKinds(connection: DatabaseSync): string[] {
  const differing = connection
    .prepare(
      `select kept.id, kept.name, kept.kinds as kept, was.kinds as was
        from restored.partners as kept join main.partners as was on ${SAME_PARTNER}
        where was.kinds is not null and was.kinds is not kept.kinds and kept.deleted_at is null order by kept.name`,
    )
    .all();
  const narrowed: string[] = [];
  for (const { id, name, kept, was } of differing) {
    const allowed = String(was).split(',');
    const before = kept === null ? allowed : String(kept).split(',');
    const both = before.filter((kind) => allowed.includes(kind)).join(',');
    if (both === kept) continue;
    connection.prepare('update restored.partners set kinds = ? where id = ?').run(both, id ?? null);
    narrowed.push(String(name));
  }
  return narrowed;
}
