import { COPY, FIRST_COPY, mirrorOf, PAGES, STREAM } from '../parts/copies.ts';
import { FIRST_IMPORT } from '../parts/import.ts';
import { AGAIN } from '../parts/latency.ts';
import { AFTER_PAGES } from '../parts/memory.ts';
import { earlierOf } from '../parts/versions.ts';
import { ALONE } from '../parts/waits.ts';
import { isService } from './comparison.ts';
import type { Subject } from './subject.ts';

const TIME: Subject['columns'] = ['p99 ms', 'p50 ms'];
const DUTIES = 'this service also checks keys, scopes and limits, signs cursors, tags responses and logs';
const RENDERED = 'records are rendered when they are imported, and one index finds those of a page';

/** The earlier version, on the same engine. */
const VERSIONS: NonNullable<Subject['rows']> = {
  us: 'this version',
  isPair: (ours, rival) =>
    isService(ours.candidate) && ours.work === rival.work && rival.candidate === earlierOf(ours.candidate),
  labelOf: () => 'the earlier version',
};

export const SUBJECTS: readonly Subject[] = [
  {
    ...speed('list', 'List page with two filters', RENDERED),
    chart: {
      file: 'cost',
      title: 'CPU time of a list page with two filters',
      unit: 'CPU µs',
      unitText: 'microseconds of server and database',
      isBySize: true,
    },
  },
  speed('detail', 'Detail', 'a detail is one row, rendered when it was imported'),
  speed('contracts', 'Contracts page, with suppliers and services', 'the joins were made when contracts were imported'),
  speed(
    'search',
    'Searches and counts',
    'the index has a bitmap of each word, and only the records of a page are read',
  ),
  speed(
    'again',
    'The same page again',
    'responses are cached as bytes',
    'this service also checks keys and limits, and logs',
  ),
  {
    title: 'Time of one request',
    part: 'latency',
    columns: TIME,
    better: 'less',
    whyBehind: DUTIES,
    whyAhead: RENDERED,
    chart: {
      file: 'p99',
      title: 'List page with two filters, p99',
      unit: 'p99 ms',
      unitText: 'milliseconds, one request at a time',
      isWanted: ({ work }) => work === 'list page, two filters',
    },
  },
  {
    title: 'Time of a count',
    part: 'counts',
    columns: ['longest ms', 'p50 ms'],
    better: 'less',
    rows: {
      us: 'a count for the first time',
      isPair: (ours, rival) => rival.work === ours.work.replace(/first time$/, AGAIN) && rival.work !== ours.work,
      labelOf: () => 'the same count again',
    },
    whyBehind: 'the bitmaps of its words are cached then',
  },
  {
    title: 'Wait of another partner',
    part: 'waits',
    columns: ['p99 ms', 'longest ms'],
    better: 'less',
    rows: {
      us: 'a page beside other work',
      isPair: (ours, rival) => rival.work === ALONE && ours.work.includes('beside'),
      labelOf: () => 'the page of a partner that is alone',
    },
    whyBehind: 'one process serves all partners, and long work gives way only between its steps',
  },
  {
    title: 'All solicitations: streams and pages',
    part: 'copies',
    columns: ['records/s'],
    better: 'more',
    rows: {
      us: 'a stream of this service',
      isPair: (ours, rival) => ours.work === STREAM && (rival.candidate === COPY || rival.work === PAGES),
      labelOf: ({ work, candidate }) => {
        if (isService(candidate)) return 'its own pages';
        return work === PAGES ? `the pages of ${candidate}` : candidate;
      },
    },
    whyBehind: 'a stream of this service also follows filters and scope, and checks its key between pieces',
    whyAhead: 'a statement of a stream reads up to a thousand rendered records, which are sent as they are',
    chart: {
      file: 'streams',
      title: 'Reading a whole list',
      unit: 'records/s',
      unitText: 'records a second',
    },
  },
  {
    title: 'A copy of everything, and the runs after it',
    part: 'copies',
    columns: ['s', 'CPU s'],
    heads: { 'CPU s': 'CPU s of the service' },
    better: 'less',
    rows: {
      us: 'the mirror',
      isPair: (ours, rival) =>
        rival.work === FIRST_COPY && (ours.work === FIRST_COPY || rival.candidate.startsWith(mirrorOf(''))),
      labelOf: ({ candidate }) => (candidate.startsWith(mirrorOf('')) ? 'a first copy' : 'a program that only inserts'),
    },
    whyBehind: 'the mirror also parses records and compares them with its copy',
    whyAhead: 'a later run reads only the feed since its last watermark',
    chart: {
      file: 'copy',
      title: 'A first copy of everything, and the runs after it',
      unit: 's',
      unitText: 'seconds',
    },
  },
  {
    title: 'Memory',
    part: 'memory',
    columns: ['MB'],
    better: 'less',
    whyBehind: 'this service caches responses, rows and parts of its index, and has more features',
    whyAhead: 'it loads less code and has bounded caches',
    chart: {
      file: 'memory',
      title: 'Memory of a server after some thousand list pages',
      unit: 'MB',
      unitText: 'resident megabytes, without PostgreSQL',
      isWanted: ({ work }) => work === AFTER_PAGES,
    },
  },
  {
    title: 'Import, and the commands that undo it',
    part: 'import',
    columns: ['s', 'MB'],
    better: 'less',
    rows: {
      us: 'a later import',
      isPair: (ours, rival) =>
        rival.work === FIRST_IMPORT && ours.work !== FIRST_IMPORT && !ours.work.startsWith('pds '),
      labelOf: () => 'a first import',
    },
    whyBehind: 'later ones compare with what is stored',
    whyAhead: 'only lines that changed are checked, rendered and indexed',
  },
  {
    title: 'This version and an earlier one: requests',
    part: 'versions',
    columns: ['requests/s', 'CPU µs'],
    better: 'more',
    rows: VERSIONS,
    whyBehind: 'a request takes more steps in the service, while its statements on SQLite take no longer',
  },
  {
    title: 'This version and an earlier one: beside an import that changes all',
    part: 'versions',
    columns: ['p99 ms', 'longest ms'],
    better: 'less',
    rows: VERSIONS,
    whyBehind: 'an import computes with two threads, and pages wait for a core',
  },
  {
    title: 'This version and an earlier one: import, start, walk',
    part: 'versions',
    columns: ['s'],
    better: 'less',
    rows: VERSIONS,
    whyBehind: 'an import on SQLite copies the catalog first, and each was measured once',
    whyAhead: 'records in the order of their positions lie together',
  },
];

function speed(part: string, title: string, whyAhead: string, whyBehind = DUTIES): Subject {
  return { title, part, columns: ['requests/s', 'CPU µs'], better: 'more', whyBehind, whyAhead };
}
