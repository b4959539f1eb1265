import { sql } from 'kysely';
import { inSnapshot, type Database } from '../database/database.ts';
import { readValue } from '../database/statement.ts';
import { isIndexed, keyField, KINDS_AS_LISTED, TABLE_OF, type Kind } from '../kinds.ts';
import type { Clock } from '../timestamp.ts';
import { getPartner, getPartnerRow } from './partner-admin.ts';
import { EVERYTHING } from './visibility/owners.ts';
import { hasDrafts, isDraft, OWNERS, RULES, type Owner } from './visibility/rules.ts';
import { findWays } from './visibility/ways.ts';

/** A grant that shows a record, since when, and the contract through which; `id` is null for `everything`. */
interface Grounds {
  readonly grant: Owner | typeof EVERYTHING;
  readonly id: string | null;
  readonly contract: string | null;
  readonly since: string;
}

/**
 * Explains whether a partner sees a record of a kind, by its key; a solicitation also by its `ref`.
 *
 * @returns its own key; the grants that show it (`by`), at most `everything` for a kind that every partner sees; or why the
 *   partner does not see it (`because`); when it last changed, if it is stored and its kind has an index; and the last UTC
 *   day on which the partner requested the kind or the feed, if stored usage counts one.
 * @throws OperatorError if there is no such partner.
 */
export function explain(database: Database, clock: Clock, name: string, kind: Kind, key: string) {
  return inSnapshot(database, async (snapshot) => {
    const { suspendedAt, kinds, everythingSince } = await getPartner(snapshot, clock, name);
    const { id: partnerId } = await getPartnerRow(snapshot, name);
    const record = await findRecord(snapshot, kind, key);
    const ways = record === null || RULES[kind] === null ? [] : await findWays(snapshot, partnerId, kind, record.id);
    const by = ways.flatMap(({ owner, since, ...way }): Grounds[] =>
      since === null ? [] : [{ grant: owner, ...way, since }],
    );
    if (everythingSince !== null) by.unshift({ grant: EVERYTHING, id: null, contract: null, since: everythingSince });
    const because: { reason: string; instead: string }[] = [];
    const refuse = (reason: string, instead: string): unknown => because.push({ reason, instead });
    if (suspendedAt !== null) refuse(`suspended since ${suspendedAt}`, `pds partner resume ${name}`);
    if (kinds?.includes(kind) === false) {
      const more = KINDS_AS_LISTED.filter((each) => each === kind || kinds.includes(each));
      refuse('limited to other kinds', `pds partner set ${name} --kinds ${more.join()}`);
    }
    if (record === null) {
      const removedAt = await findRemoval(snapshot, kind, key);
      refuse(removedAt === null ? 'no such record' : `removed by the import of ${removedAt}`, 'import it');
    } else if (isDraft(record)) refuse('a draft, which no partner sees', 'import it with another status');
    if (record !== null && RULES[kind] !== null && by.length === 0) {
      if (ways.length === 0)
        refuse('no contract names it', `import a contract that does, of an owner granted to ${name}`);
      // A supplier can have hundreds.
      for (const { owner, id, contract } of ways.slice(0, 5)) {
        const { label, word } = OWNERS[owner];
        const through = contract === null ? '' : `, whose contract ${contract} names it,`;
        refuse(`${label} ${id}${through} is not granted`, `pds partner grant ${name} --${word} ${id}`);
      }
    }
    const { id = key, changedAt = null } = record ?? {};
    const lastRequest = await findLastRequest(snapshot, partnerId, kind);
    return { partner: name, kind, id, sees: because.length === 0, by, because, changedAt, lastRequest };
  });
}

async function findRecord({ kysely }: Database, kind: Kind, key: string) {
  const id = sql.ref(keyField(kind));
  const isRef = kind === 'solicitations' && /^[1-9]\d{0,15}$/.test(key);
  const releases = hasDrafts(kind) ? 'changed_release, detail_release' : 'changed_release';
  const { rows } = await sql<{ id: string; status: string; changedAt: string | null }>`
    select ${id} as id, ${sql.raw(hasDrafts(kind) ? 'status' : "''")} as status,
      (select max(at) from catalog.releases where number in (${sql.raw(isIndexed(kind) ? releases : '0')})) as "changedAt"
    from ${sql.table(`catalog.${TABLE_OF[kind]}`)}
    where ${isRef ? sql`ref = ${Number(key)}` : sql`${id} = ${key}`}`.execute(kysely);
  return rows[0] ?? null;
}

/** When an import removed a record, if that is still stored. */
function findRemoval(database: Database, kind: Kind, id: string): Promise<string | null> {
  const removal = sql`select at as value from catalog.releases where number = (
    select release from catalog.departures where owner = ${EVERYTHING} and kind = ${kind} and id = ${id})`;
  return readValue(database, removal);
}

function findLastRequest(database: Database, partnerId: number, kind: Kind): Promise<string | null> {
  const endpoints = [`/v1/${kind}`, `/v1/${kind}/:id`, ...(isIndexed(kind) ? ['/v1/changes'] : [])];
  const last = sql`select max(day) as value from access.usage
    where partner_id = ${partnerId} and endpoint in (${sql.join(endpoints)})`;
  return readValue(database, last);
}
