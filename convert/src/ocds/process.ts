import { readTimestamp } from '../dates.ts';
import { objectsAt, textAt, type JsonObject } from '../json.ts';
import type { ConversionReport } from '../report.ts';
import { ValueError } from '../value-error.ts';
import type { StoredParts } from '../workspace.ts';
import { mergeReleases } from './merge-releases.ts';
import type { OcdsOptions } from './options.ts';

/** One contracting process in one state, and how it is converted. */
export interface ContractingProcess {
  ocid: string;
  /** The compiled release, or its releases merged. */
  release: JsonObject;
  /** The parties of all releases, later ones first. Merging by id would make one of several that share an id. */
  parties: JsonObject[];
  /** The dates of its first and last release, in UTC. */
  firstDate: string;
  lastDate: string;
  /** The tags of all its releases. */
  tags: ReadonlySet<string>;
  /** The date of each release by its id, for amendments that name one. */
  releaseDates: ReadonlyMap<string, string>;
  options: OcdsOptions;
  report: ConversionReport;
}

/**
 * The state of a process: its last compiled release, else its releases merged.
 *
 * @throws ValueError if it has neither, or its releases cannot be merged.
 */
export function openProcess(
  ocid: string,
  parts: StoredParts,
  options: OcdsOptions,
  report: ConversionReport,
): ContractingProcess {
  const compiled = parts.findLast(({ form }) => form === 'compiled');
  if (compiled === undefined && parts.some(({ form }) => form === 'linked')) {
    throw new ValueError('has only links to its releases, and no compiled release');
  }
  const releases = parts.filter(({ form }) => form !== 'linked').map(({ json }) => JSON.parse(json) as JsonObject);
  const latestFirst = releases.toReversed();
  return {
    ocid,
    options,
    report,
    release: compiled === undefined ? mergeReleases(releases) : (JSON.parse(compiled.json) as JsonObject),
    parties: latestFirst.flatMap((release) => objectsAt(release, 'parties')),
    firstDate: parts[0].date,
    lastDate: (parts.at(-1) ?? parts[0]).date,
    tags: new Set(releases.flatMap(tagsOf)),
    releaseDates: new Map(latestFirst.map((release) => [textAt(release, 'id') ?? '', textAt(release, 'date') ?? ''])),
  };
}

/**
 * The time at a path, in UTC; null if there is none.
 *
 * @throws ValueError
 */
export function timeAt(process: ContractingProcess, value: JsonObject, ...path: string[]): string | null {
  const text = textAt(value, ...path);
  return text === null ? null : parseTime(process, text, path.join('.'));
}

/** @throws ValueError */
export function parseTime({ options, report }: ContractingProcess, text: string, field: string): string {
  const timestamp = readTimestamp(text, options.zone, field);
  if (text.length === '0000-00-00'.length) report.dropped('dates without a time (read as midnight)');
  return timestamp;
}

function tagsOf({ tag }: JsonObject): string[] {
  return (Array.isArray(tag) ? tag : [tag]).filter((one) => typeof one === 'string');
}

/** OCDS properties that the import format has no field for. */
const DROPPED: Readonly<Record<string, string>> = {
  amount: 'amounts',
  bids: 'bids',
  contactPoint: 'contact points',
  criteria: 'criteria',
  implementation: 'implementations',
  lots: 'lots',
  milestones: 'milestones',
  planning: 'plans and budgets',
  relatedProcesses: 'related processes',
  tenderers: 'tenderers',
  transactions: 'transactions',
  url: 'document URLs',
};

/** Counts what is lost of a process. */
export function countDropped({ release, report }: ContractingProcess): void {
  const count = (value: unknown, path: readonly string[]): void => {
    if (Array.isArray(value)) {
      for (const item of value) count(item, path);
    } else if (typeof value === 'object' && value !== null) {
      for (const [key, inner] of Object.entries(value)) {
        const what = Object.hasOwn(DROPPED, key) ? DROPPED[key] : undefined;
        const isCounted = key !== 'url' || path.at(-1) === 'documents';
        if (what !== undefined && isCounted) report.dropped(what, Array.isArray(inner) ? inner.length : 1);
        else if (key === 'identifier') continue;
        count(inner, [...path, key]);
      }
    }
  };
  count(release, []);
}
