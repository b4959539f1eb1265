import { CHANGES, faults, FEED, SYNC, VISIBLE, WITHIN_A_SECOND } from './mutant.ts';

/** Faults in the feed of changes, and in the log. */
export const FEEDS = faults({ breaks: FEED, tests: CHANGES }, [
  {
    name: 'a listing of changes continues over a reset',
    breaks: 'After a loss every client reads everything again',
    file: 'src/paging/changes.ts',
    original: 'if (isComplete === false && complete !== null) throw',
    replacement: "if (isComplete === false && complete === 'partner') throw",
    test: 'that began incrementally is refused',
  },
  {
    name: 'a page of changes that removals fill ends its records',
    file: 'src/paging/changes.ts',
    original: 'after: page.length < lines.length ? (page.at(-1)?.id ?? null) : (lastRecord ?? until),',
    replacement: 'after: lastRecord ?? until,',
    test: 'and records in the order of their ids',
    isInCi: true,
  },
  {
    name: 'totals are those of the last page, whatever the pages before it showed',
    breaks: 'A copy kept by the feed ends with all that was visible, and its numbers',
    file: 'src/paging/changes.ts',
    original: 'const snapshotDigest = before === digest ? digest : null;',
    replacement: 'const snapshotDigest = before === null ? null : digest;',
    test: 'totals count what the partner sees',
  },
  {
    name: 'a supplier that only the contract of a coop still names is removed',
    file: 'src/access/visibility/scope-sql.ts',
    original: `const named = shownBy(kind).map(([owner]) => {
    const { suppliers, column, parameter: list }`,
    replacement: `const named = shownBy(kind).slice(0, 1).map(([owner]) => {
    const { suppliers, column, parameter: list }`,
    test: 'nothing that a coop still shows',
  },
  {
    name: 'a stream of changes continues with a kind that the partner lost',
    breaks: WITHIN_A_SECOND,
    file: 'src/paging/send-changes.ts',
    original: '        checkKinds(current.partner, kindsOf(begun));\n',
    replacement: '',
    tests: ['test/paging/cut-streams.test.ts'],
    test: 'a stream of changes is cut',
  },
  {
    name: 'a renamed lead entity is not in the feed of a solicitation whose notices changed last',
    file: 'src/index/write/index-changes.ts',
    original: "if ('detail_release' in before)\n",
    replacement: "if ('detail_release' in before && before.detail_release === changed)\n",
    test: 'records that embed a renamed lead entity',
  },
  {
    name: 'old events are deleted with the last one that narrowed a partner',
    file: 'src/database/event-log.ts',
    original: `
        and (what <> 'scope' or narrows is null or exists (select 1 from access.events as later
          where later.what = 'scope' and later.partner_id = event.partner_id and later.at > event.at
            and later.narrows is not null))`,
    replacement: '',
    tests: ['test/database/old-events.test.ts'],
  },
  {
    name: 'events become visible out of order',
    breaks: SYNC,
    file: 'src/database/event-log.ts',
    original: 'select pg_advisory_xact_lock(',
    replacement: 'select pg_try_advisory_xact_lock(',
    tests: ['test/database/event-order.postgres.test.ts'],
    test: 'an event waits for the one before it',
    project: 'postgres',
  },
  {
    name: 'the watermark of an event is its timestamp',
    breaks: SYNC,
    file: 'src/access/snapshot.ts',
    original: 'return last === EPOCH ? EPOCH : addMilliseconds(last, 1);',
    replacement: 'return last === EPOCH ? EPOCH : addMilliseconds(last, 0);',
    tests: VISIBLE,
  },
]);
