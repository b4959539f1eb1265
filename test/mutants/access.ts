import { AGREEMENT, CHANGES, DIRECTORY, faults, FEED, LOG, ONLY_VISIBLE, VISIBLE, WITHIN_A_SECOND } from './mutant.ts';

/** Faults in scope, keys and partners. */
export const ACCESS = faults({ breaks: ONLY_VISIBLE, tests: ['test/conformance/isolation.test.ts'] }, [
  {
    name: 'a coop shows solicitations of the lead entities of its contracts',
    file: 'src/access/visibility/scope-sql.ts',
    original: 'return served === null ? granted : sql<SqlBool>`${served} and ${granted}`;',
    replacement: `return served === null ? granted : sql<SqlBool>\`\${served} and (\${granted} or exists (select 1 from catalog.contracts as named
        where named.lead_entity_id = record.lead_entity_id and \${isGranted(engine, 'coop', 'named')}))\`;`,
  },
  {
    name: "a supplier is visible by any coop's contract",
    file: 'src/access/visibility/scope-sql.ts',
    original: "where path.supplier_id = ${parameter('id')} and ${isGranted(engine, owner, 'path')})`",
    replacement:
      "where path.supplier_id = ${parameter('id')} and (${sql.lit(owner === 'coop')} or ${isGranted(engine, owner, 'path')}))`",
  },
  {
    name: 'partners that see everything and others share a statement',
    file: 'src/resources/find-record.ts',
    original: 'statementKey: `${kind} by ${column}, ${shown}`',
    replacement: 'statementKey: `${kind} by ${column}`',
    tests: AGREEMENT,
  },
  {
    name: 'a draft is in lists',
    file: 'src/index/terms.ts',
    original: 'if (isDraft(row)) return { texts: [], terms: [] };',
    replacement: 'if (isDraft({})) return { texts: [], terms: [] };',
    tests: AGREEMENT,
  },
  {
    name: 'a draft is shown by its id to partners that see everything',
    file: 'src/access/visibility/scope-sql.ts',
    original: "if (key === 'everything') return served ?? sql<SqlBool>`1 = 1`;\n  const granted",
    replacement: "if (key === 'everything') return sql<SqlBool>`1 = 1`;\n  const granted",
    tests: VISIBLE,
  },
  {
    name: 'a count with filters has no scope',
    file: 'src/index/record-index.ts',
    original: 'return this.#count(snapshot, [this.visibility.in(snapshot.scope), ...conditions], after);',
    replacement:
      'return this.#count(snapshot, conditions.length > 0 ? conditions : [this.visibility.in(snapshot.scope)], after);',
  },
  {
    name: 'a reference list has no scope',
    file: 'src/resources/reference-lists/name-list.ts',
    original: '${isAmong} and ${isListed(engine, kind, key)}',
    replacement: '${isAmong} and (1 = 1 or ${isListed(engine, kind, key)})',
  },
  {
    name: 'a cursor is not bound to its partner',
    file: 'src/http/request/page-parameters.ts',
    original: `function macOf(secret: Buffer, { endpoint, partnerId, filters }: CursorBinding, content: Buffer): Buffer {
  const bound = JSON.stringify([endpoint, partnerId, `,
    replacement: `function macOf(secret: Buffer, { endpoint, filters }: CursorBinding, content: Buffer): Buffer {
  const bound = JSON.stringify([endpoint, `,
  },
  {
    name: 'cached responses are shared by partners',
    file: 'src/http/response/response-cache.ts',
    original: `function keyOf({ id }: PartnerState, url: string): string {
  return \`\${id} \${url}\`;`,
    replacement: `function keyOf({ revision }: PartnerState, url: string): string {
  return \`\${revision} \${url}\`;`,
    tests: ['test/security/cache-isolation.test.ts'],
  },
  {
    name: 'a revoked key still works if it was cached',
    breaks: WITHIN_A_SECOND,
    file: 'src/access/key-admin.ts',
    original: 'await appendKeyEvent(transaction, at, before.partner);',
    replacement: 'await Promise.resolve(at);',
    tests: DIRECTORY,
  },
  {
    name: 'a suspended partner is served from the cache',
    breaks: WITHIN_A_SECOND,
    file: 'src/access/partner-admin.ts',
    original: `await appendEvent(transaction, timestamp, {
      what: 'scope',
      partnerId,
      narrows: isComplete`,
    replacement: `if (change === 'resume') await appendEvent(transaction, timestamp, {
      what: 'scope',
      partnerId,
      narrows: isComplete`,
    tests: DIRECTORY,
  },
  {
    name: 'a key works at the millisecond of its end',
    breaks: 'An expired key is rejected from its expiry on',
    file: 'src/access/partner-directory.ts',
    original: 'return this.#options.clock() < expiresAtMs ? owner : null;',
    replacement: 'return this.#options.clock() <= expiresAtMs ? owner : null;',
    tests: DIRECTORY,
    test: 'is rejected from its expiry on',
    isInCi: true,
  },
  {
    name: 'an error repeats a whole key',
    breaks: 'No log, metric, error or command line contains a key',
    file: 'src/access/key-admin.ts',
    original: 'pass only the public id, ${wholeKey.id}:',
    replacement: 'pass only the public id of ${keyId}:',
    tests: ['test/access/admin.test.ts'],
  },
  {
    name: 'an ended grant does not narrow the feed',
    breaks: FEED,
    file: 'src/access/grant-admin.ts',
    original: "narrows: narrows ? 'revoked grant' : null,",
    replacement: 'narrows: null,',
    tests: CHANGES,
  },
  {
    name: 'a watermark is known although releases after it were deleted',
    breaks: FEED,
    file: 'src/paging/since.ts',
    original: '          = event.release + 1) then 1 else 0 end as is_watermark,',
    replacement: '          > event.release) then 1 else 0 end as is_watermark,',
    tests: LOG,
  },
  {
    name: 'old events are deleted with the last reset',
    breaks: 'After a loss every client reads everything again',
    file: 'src/database/event-log.ts',
    original: "and at <> coalesce((select max(at) from access.events where partner_id is null and what = 'reset'), '')",
    replacement: '',
    tests: ['test/database/old-events.test.ts'],
  },
  {
    name: 'a stream continues for a partner that lost everything',
    breaks: WITHIN_A_SECOND,
    file: 'src/access/visibility/owners.ts',
    original: 'other.everythingSince === null && grantedOwners(other).every',
    replacement: 'grantedOwners(other).every',
    tests: ['test/access/visibility.unit.test.ts'],
    isInCi: true,
  },
  {
    name: 'pds explain says that a supplier was visible before a contract named it',
    breaks: '"pds explain" says since when a partner sees a record',
    file: 'src/access/visibility/ways.ts',
    original: 'case when way.named_at > granted.granted_at then',
    replacement: 'case when way.named_at < granted.granted_at then',
    tests: ['test/commands/explain.test.ts'],
  },
]);
