import type { RawBuilder } from 'kysely';
import { partnerById, storedKey } from '../../src/access/partner-records.ts';
import type { Scope } from '../../src/access/scope.ts';
import { RULES } from '../../src/access/visibility/rules.ts';
import { visibleIds } from '../../src/access/visibility/scope-sql.ts';
import type { Engine, OpenDatabase } from '../../src/database/database.ts';
import { readSchemaState } from '../../src/database/migrations/migrator.ts';
import { withHead } from '../../src/database/postgres/postgres.ts';
import { READ_REVISION } from '../../src/database/revision.ts';
import { joinTexts } from '../../src/database/sqlite/sqlite.ts';
import { StatementCache } from '../../src/database/statement.ts';
import { openUsageStore, SQLITE_USAGE_STATEMENTS, type UsageStore } from '../../src/usage/usage-store.ts';
import { readBlocks, readPosition, readSets } from '../../src/index/statements.ts';
import { listExpiringKeys } from '../../src/access/key-expiry.ts';
import { readLastRelease } from '../../src/monitoring/serving-metrics.ts';
import { recordStatement, type RecordQuery } from '../../src/paging/send.ts';
import { readCursorSecret } from '../../src/http/request/page-parameters.ts';
import { knownEvents, seenEvents } from '../../src/paging/one-state.ts';
import { pageStatement, sizesStatement, storedWhole, type ListedRecords } from '../../src/paging/pages.ts';
import { inCatalogState } from '../../src/paging/changes.ts';
import { departuresById, departuresByRelease } from '../../src/paging/departed-records.ts';
import { keyStatement, pieceQuery } from '../../src/paging/pieces.ts';
import { readCertifications } from '../../src/resources/certifications/certification-list.ts';
import { FEED_RECORDS } from '../../src/resources/changes/changes.ts';
import { listedContracts } from '../../src/resources/contracts/contracts.ts';
import { findRecord } from '../../src/resources/find-record.ts';
import { ownKey } from '../../src/resources/key/key.ts';
import { NAMED_REF_KINDS, TABLE_OF } from '../../src/kinds.ts';
import { namedRefIds } from '../../src/resources/reference-lists/reference-lists.ts';
import { findSolicitation, listedSolicitations } from '../../src/resources/solicitations/solicitations.ts';
import { detailedSuppliers, listedSuppliers } from '../../src/resources/suppliers/suppliers.ts';
import { watchStatements } from './watched-database.ts';

/** The documents that list the statements. */
export const AREAS = ['index', 'pages', 'records', 'lists', 'changes', 'service'] as const;

export type Area = (typeof AREAS)[number];

/** A statement that a serving process can run. */
export interface ServingStatement {
  readonly area: Area;
  readonly name: string;
  readonly purpose: string;
  readonly text: string;
  /** Parameter names, in order. */
  readonly parameters: readonly string[];
}

const EVERYTHING: Scope = { everythingSince: '', leadEntities: new Map(), coops: new Map(), changedAt: '' };
const SCOPES: readonly Scope[] = [EVERYTHING, { ...EVERYTHING, everythingSince: null }];

const INDEXED = ['suppliers', 'contracts', 'solicitations'] as const;
const NAMED_REFS = NAMED_REF_KINDS.map((kind) => TABLE_OF[kind]);

const LISTED: readonly ListedRecords[] = [
  listedSuppliers,
  listedContracts,
  listedSolicitations,
  storedWhole('certifications', 'abbreviation'),
  ...NAMED_REFS.map((table) => storedWhole(table, 'id')),
];

type Template = [area: Area, name: string, purpose: string, statement: RawBuilder<unknown>];

/** All statements that `OpenDatabase.run` and `readTexts` run, under the same keys. */
function templates(engine: Engine): Template[] {
  const textsOf = engine === 'sqlite' ? joinTexts : withHead;
  const records = SCOPES.flatMap((scope): (RecordQuery | null)[] => [
    findRecord(engine, 'suppliers', detailedSuppliers, scope, ''),
    findRecord(engine, 'contracts', listedContracts, scope, ''),
    findSolicitation(engine, scope, ''),
    findSolicitation(engine, scope, '1'),
  ]).filter((query) => query !== null);
  return [
    [
      'index',
      'index blocks',
      'The blocks of a kind. Cached until a statement sees another state of the catalog.',
      readBlocks,
    ],
    ...INDEXED.map((kind): Template => [
      'index',
      `sets of ${kind}`,
      'The sets of terms, and of the first terms in ranges, in some blocks. Results are cached until a block changes.',
      readSets(engine, kind),
    ]),
    ...INDEXED.map((kind): Template => [
      'index',
      `position of ${kind}`,
      "The position of a cursor's record, or of the last before it if it was removed.",
      readPosition(kind),
    ]),
    ...LISTED.map((listed): Template => [
      'pages',
      `${listed.table} page`,
      'The finished texts of a page, with the events and the revision of the same moment.',
      pageStatement(engine, listed),
    ]),
    ...LISTED.map((listed): Template => [
      'pages',
      `sizes of ${listed.table}`,
      'Runs only if the texts of a page are larger than a page may be: which of them fit.',
      sizesStatement(engine, listed),
    ]),
    ...LISTED.map((listed): Template => [
      'pages',
      `${listed.table} piece by list`,
      'The finished texts of a piece of a stream, with the events of the same moment.',
      textsOf(pieceQuery(engine, listed, 'list')),
    ]),
    ...LISTED.filter(({ foundBy }) => foundBy === 'position').flatMap((listed): Template[] => [
      [
        'pages',
        `${listed.table} piece by range`,
        'The same for records whose positions are close to each other, if there is no other record among them.',
        textsOf(pieceQuery(engine, listed, 'range')),
      ],
      [
        'pages',
        `key of ${listed.table}`,
        'The key of the last record of a piece, before it is sent.',
        keyStatement(listed),
      ],
    ]),
    ...records.map(({ statementKey, build }): Template => [
      'records',
      statementKey,
      statementKey.endsWith('granted')
        ? 'A record by its key, if it is in the scope of a partner with grants.'
        : 'A record by its key, for a partner that sees everything.',
      recordStatement(build()),
    ]),
    ...NAMED_REF_KINDS.flatMap((kind) =>
      (RULES[kind] === null ? (['everything'] as const) : (['everything', 'granted'] as const)).map((key): Template => [
        'lists',
        `ids of ${TABLE_OF[kind]}, ${key}`,
        key === 'everything'
          ? 'The next ids of a reference list that the partner sees all of.'
          : 'The next ids of a reference list: granted, or named by a contract that the partner sees.',
        namedRefIds(engine, kind, key),
      ]),
    ),
    ...FEED_RECORDS.flatMap(([kind, listed]): Template[] => [
      ...(['list', 'range'] as const).map((by): Template => [
        'changes',
        `${listed.name} piece by ${by}`,
        'Records of the feed of changes as lines, with the events of the same moment.',
        textsOf(pieceQuery(engine, listed, by)),
      ]),
      [
        'changes',
        `sizes of ${listed.name}`,
        'Runs only if the texts of a piece are larger than a piece may be: which of them fit.',
        sizesStatement(engine, listed),
      ],
      ...(['everything', 'granted'] as const).map((key): Template => [
        'changes',
        `visible ${kind}, ${key}`,
        'Which records that left an owner are still visible in another way.',
        inCatalogState(visibleIds(engine, kind, key)),
      ]),
    ]),
    [
      'changes',
      'departures by release',
      'The removals since a watermark, if they are few.',
      departuresByRelease(engine),
    ],
    [
      'changes',
      'departures by id',
      'The removals of a kind from each granted owner after an id, if there are more.',
      departuresById(engine),
    ],
    [
      'lists',
      'certifications',
      'All certifications. Cached until a statement sees another state of the catalog.',
      readCertifications,
    ],
    [
      'lists',
      'events',
      'The last events, and what an `updated_since` means, before the first page of a sync.',
      knownEvents,
    ],
    ['service', 'own key', 'The key of a request to `/v1/key`, with its requests per day.', ownKey(engine)],
    ['service', 'key', 'A key that is not cached, with its partner and grants.', storedKey],
    ['service', 'partner', 'A partner whose grants changed while a page was read.', partnerById],
    ['lists', 'seen events', 'The last events, after a count.', seenEvents],
  ];
}

/** Runs and lists the serving statements that bypass `run`. */
async function otherStatements(database: OpenDatabase): Promise<ServingStatement[]> {
  const statements: ServingStatement[] = [
    {
      area: 'service',
      name: 'revision',
      purpose: 'Every 500 ms: whether anything changed, and whether the database is there.',
      text: READ_REVISION,
      parameters: [],
    },
  ];
  /** Names, in order, the statements that `work` runs for the first time. */
  const record = async (
    purpose: string,
    named: readonly [name: string, ...parameters: string[]][],
    work: (watched: OpenDatabase) => Promise<unknown>,
  ): Promise<void> => {
    const texts = new Set<string>();
    await work(watchStatements(database, (text) => texts.add(text)));
    const added = [...texts].filter((text) => statements.every((statement) => statement.text !== text));
    if (added.length !== named.length) throw new Error(`not ${named.length} statements: ${added.join('; ')}`);
    for (const [index, [name, ...parameters]] of named.entries()) {
      statements.push({ area: 'service', name, purpose, text: added[index] ?? '', parameters });
    }
  };
  await record(
    'At the start the secret that signs cursors. During an upgrade the oldest version that can serve.',
    [['setting', 'name']],
    readCursorSecret,
  );
  await record('For the metrics, when the revision has changed.', [['last release']], readLastRelease);
  await record(
    'For the metrics, when the revision has changed: which keys end, and when.',
    [['keys that end', 'environment', 'at']],
    (opened) => listExpiringKeys(opened, 'live', ''),
  );
  await record(
    'For `/readyz`, at most every ten seconds: which migrations ran.',
    database.engine === 'postgres'
      ? [['tables', 'group'], ['migrations of the catalog'], ['migrations of access']]
      : [['tables'], ['migrations of the catalog'], ['tables of access'], ['migrations of access']],
    (opened) => readSchemaState(opened, 'serve'),
  );
  const columns = ['day', 'partner_id', 'key_id', 'endpoint', 'requests', 'records', 'limited', 'failed'];
  const usage = {
    add: 'Every five seconds: the counts of requests. On PostgreSQL with a row for each count.',
    deleteOneDay: 'Once a day: deletes the oldest day, if it is older than is kept.',
  };
  if (database.engine === 'sqlite') {
    const { add, deleteOneDay } = SQLITE_USAGE_STATEMENTS;
    return [
      ...statements,
      { area: 'service', name: 'usage', purpose: usage.add, text: add, parameters: columns },
      { area: 'service', name: 'old usage', purpose: usage.deleteOneDay, text: deleteOneDay, parameters: ['day'] },
    ];
  }
  const storeOf = (opened: OpenDatabase): UsageStore => openUsageStore({ engine: 'postgres', url: '' }, opened);
  const row = { day: '', partner_id: 0, key_id: '', endpoint: '', requests: 0, records: 0, limited: 0, failed: 0 };
  await record(usage.add, [['usage', ...columns]], (opened) => storeOf(opened).add([row]));
  await record(usage.deleteOneDay, [['old usage', 'day']], (opened) => storeOf(opened).deleteOneDayBefore(''));
  return statements;
}
/** Lists all serving statements. Executes those that bypass `run`, so the database must not be shared. */
export async function listServingStatements(database: OpenDatabase): Promise<ServingStatement[]> {
  const cache = new StatementCache();
  const named = templates(database.engine).map(([area, name, purpose, statement]) => {
    const { text, parameterNames } = cache.get(database.kysely, name, () => statement);
    return { area, name, purpose, text, parameters: parameterNames };
  });
  return [...named, ...(await otherStatements(database))];
}
