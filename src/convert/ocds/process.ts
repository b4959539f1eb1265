import { objectsAt, textAt, type JsonObject } from '../json.ts';
import type { ConversionReport } from '../report.ts';
import type { StoredPart } from '../workspace.ts';
import { InconsistentReleasesError, mergeReleases } from './merge-releases.ts';

/** One contracting process in one state. */
export interface ContractingProcess {
  ocid: string;
  /** The compiled release, or its releases merged. */
  release: JsonObject;
  /** The parties of all releases, later ones first. Merging by id would make one of several that share an id. */
  parties: JsonObject[];
  /** The dates of its first and last release, as they were given. */
  firstDate: string;
  lastDate: string;
  /** The tags of all its releases. */
  tags: ReadonlySet<string>;
  /** The date of each release by its id, for amendments that name one. */
  releaseDates: ReadonlyMap<string, string>;
  file: string;
  place: string;
}

/**
 * The state of a process: its last compiled release, else its releases merged.
 *
 * @returns null if it was refused.
 */
export function findState(
  ocid: string,
  parts: readonly StoredPart[],
  report: ConversionReport,
): ContractingProcess | null {
  const [first, last] = [parts.at(0), parts.at(-1)];
  if (first === undefined || last === undefined) return null;
  const { file, place } = last;
  const refuse = (field: string, reason: string): null => {
    report.refuse({ file, place, field, id: ocid, reason });
    return null;
  };
  const compiled = parts.findLast(({ form }) => form === 'compiled');
  const used = compiled === undefined ? parts : [compiled];
  if (used.some(({ form }) => form === 'linked')) {
    return refuse('', 'has only links to its releases, and no compiled release');
  }
  const values = used.map(({ json }) => JSON.parse(json) as JsonObject);
  const releases = parts.filter(({ form }) => form !== 'linked').map(({ json }) => JSON.parse(json) as JsonObject);
  try {
    return {
      ...{ ocid, file, place },
      release: compiled === undefined ? mergeReleases(values) : (values[0] ?? {}),
      parties: releases.reverse().flatMap((release) => objectsAt(release, 'parties')),
      firstDate: first.date,
      lastDate: last.date,
      tags: new Set(releases.flatMap(tagsOf)),
      releaseDates: new Map(releases.map((release) => [textAt(release, 'id') ?? '', textAt(release, 'date') ?? ''])),
    };
  } catch (error) {
    if (error instanceof InconsistentReleasesError) return refuse(error.path, error.message);
    throw error;
  }
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

/** Counts what is lost of a release. */
export function countDropped(release: JsonObject, report: ConversionReport): void {
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
