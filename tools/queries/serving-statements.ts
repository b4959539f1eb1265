import type { RawBuilder } from 'kysely';
import { listExpiringKeys, storedKey } from '../../src/access/partner-records.ts';
import type { Scope } from '../../src/access/scope.ts';
import { selectHead, selectHeadWithScope, withHeadRow } from '../../src/access/snapshot.ts';
import { RULES } from '../../src/access/visibility/rules.ts';
import type { Engine, OpenDatabase, Query, TextsToRead } from '../../src/database/database.ts';
import { readSchemaState } from '../../src/database/migrations/migrator.ts';
import { withHead } from '../../src/database/postgres/postgres.ts';
import { readPublishedAt } from '../../src/database/event-log.ts';
import { READ_REVISION } from '../../src/database/revision.ts';
import { joinTexts } from '../../src/database/sqlite/sqlite.ts';
import { StatementCache } from '../../src/database/statement.ts';
import { openUsageStore, SQLITE_USAGE_STATEMENTS, type UsageStore } from '../../src/usage/usage-store.ts';
import { readBlocks, readPosition, readSets } from '../../src/index/statements.ts';
import type { RecordQuery } from '../../src/paging/send.ts';
import { readCursorSecret } from '../../src/http/request/page-parameters.ts';
import { batchQuery, sizesQuery } from '../../src/paging/batch.ts';
import { storedWhole, type ListedRecords } from '../../src/paging/pages.ts';
import { SINCE_COLUMNS, sinceStatement } from '../../src/paging/since.ts';
import { departuresById, departuresByRelease } from '../../src/paging/departed-records.ts';
import { readCertifications } from '../../src/resources/certifications/certification-list.ts';
import { visibleQuery } from '../../src/paging/changes.ts';
import { FEED_RECORDS } from '../../src/resources/changes/changes.ts';
import { listedContracts } from '../../src/resources/contracts/contracts.ts';
import { findRecord } from '../../src/resources/find-record.ts';
import { ownKey } from '../../src/resources/key/key.ts';
import { NAMED_REF_KINDS, TABLE_OF } from '../../src/kinds.ts';
import { namedRefs } from '../../src/resources/reference-lists/name-list.ts';
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

const EVERYTHING: Scope = { everythingSince: '', leadEntities: new Map(), coops: new Map() };
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
  /** A statement that a snapshot runs. */
  const rowsOf = <Row>(area: Area, purpose: string, query: Query<Row>): Template => [
    ...([area, query.statementKey, purpose] as const),
    withHeadRow(query),
  ];
  /** The same of texts. */
  const textsIn = (area: Area, name: string, purpose: string, texts: TextsToRead): Template => [
    ...([area, name, purpose] as const),
    textsOf({ head: selectHead, ...texts }),
  ];
  const textsOfLists = (area: Area, listed: ListedRecords, by: 'list' | 'range', purpose: string): Template[] => [
    textsIn(area, `${listed.name} by ${by}`, purpose, batchQuery(engine, listed, by, false)),
    ...(engine === 'sqlite'
      ? []
      : [
          textsIn(
            area,
            `${listed.name} by ${by}, in parts`,
            'The same for more than a hundred.',
            batchQuery(engine, listed, by, true),
          ),
        ]),
  ];
  const records = SCOPES.flatMap((scope): RecordQuery[] => [
    findRecord({ engine, scope }, 'suppliers', detailedSuppliers, ''),
    findRecord({ engine, scope }, 'contracts', listedContracts, ''),
    findSolicitation({ engine, scope }, ''),
    findSolicitation({ engine, scope }, '1'),
  ]);
  return [
    rowsOf('index', 'The blocks of a kind. Cached for the catalog.', readBlocks('contracts')),
    ...INDEXED.map((kind) =>
      rowsOf(
        'index',
        'The sets of terms, and of the first terms in ranges, in some blocks. Results are cached until a block changes.',
        readSets(engine, kind, { terms: [], ranges: [], limit: 1 }),
      ),
    ),
    ...INDEXED.map((kind) =>
      rowsOf(
        'index',
        "The position of a cursor's record, or of the last before it if it was removed.",
        readPosition(kind, ''),
      ),
    ),
    ...LISTED.flatMap((listed): Template[] => [
      ...textsOfLists('pages', listed, 'list', 'The finished texts of a page, or of a piece of a stream.'),
      rowsOf(
        'pages',
        'If a text is large: which of them fit. Before a limited stream: its last key.',
        sizesQuery(engine, listed, []),
      ),
    ]),
    ...LISTED.filter(({ foundBy }) => foundBy === 'position').flatMap((listed): Template[] => [
      ...textsOfLists('pages', listed, 'range', 'The same if these are all records between the first and the last.'),
    ]),
    ...records.map(({ statementKey, build }) =>
      textsIn(
        'records',
        statementKey,
        statementKey.endsWith('granted')
          ? 'A record by its key, if it is in the scope of a partner with grants.'
          : 'A record by its key, for a partner that sees everything.',
        build(),
      ),
    ),
    ...NAMED_REF_KINDS.flatMap((kind) =>
      (RULES[kind] === null ? [EVERYTHING] : SCOPES).flatMap((scope) => [
        rowsOf(
          'lists',
          RULES[kind] === null || scope.everythingSince !== null
            ? 'The next records of a reference list that the partner sees all of, and for a search the next names of all.'
            : 'The next records of a reference list: granted, or named by a contract that the partner sees.',
          namedRefs({ engine, scope }, kind, '', 1),
        ),
        rowsOf(
          'lists',
          'The same of those whose names have the words of a search.',
          namedRefs({ engine, scope }, kind, '', 1, []),
        ),
      ]),
    ),
    ...FEED_RECORDS.flatMap(([kind, listed]): Template[] => [
      ...(['list', 'range'] as const).flatMap((by) =>
        textsOfLists('changes', listed, by, 'Records of the feed of changes, as lines.'),
      ),
      rowsOf('changes', 'Runs only if a text is large: which of them fit.', sizesQuery(engine, listed, [])),
      ...SCOPES.map((scope) =>
        rowsOf(
          'changes',
          'Which records that left an owner are still visible in another way.',
          visibleQuery({ engine, scope }, kind, []),
        ),
      ),
    ]),
    rowsOf(
      'changes',
      'The removals since a watermark, if they are few.',
      departuresByRelease(engine, { owners: '', kinds: [], rows: 1 }),
    ),
    rowsOf(
      'changes',
      'The removals of a kind from each granted owner after an id, if there are more.',
      departuresById(engine, { kind: 'contracts', owners: '', rows: 1 }),
    ),
    rowsOf('lists', 'All certifications. Cached for the catalog.', readCertifications),
    rowsOf('lists', 'Resolves `updated_since`, before each page of a sync.', {
      ...{ statementKey: 'since', columns: SINCE_COLUMNS, build: () => sinceStatement, values: {} },
    }),
    rowsOf('service', 'The key of a request to `/v1/key`, with its requests per day.', ownKey(engine, '', [])),
    ['service', 'key', 'A key that is not cached, with its partner and grants.', storedKey],
    ['lists', 'head', 'The head of the log, if all else of a response was cached.', selectHead],
    ['lists', 'head with scope', 'The head and the scope, after a statement saw another head.', selectHeadWithScope],
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
  await record('For the metrics, when the revision has changed.', [['last release']], readPublishedAt);
  await record(
    'For the metrics, when the revision has changed: which keys end, and when.',
    [['keys that end', 'environment', 'at']],
    (opened) => listExpiringKeys(opened, 'live', ''),
  );
  await record(
    'For `/readyz`: which migrations ran.',
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
