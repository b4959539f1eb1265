import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/*
 * The catalogs of a database are files beside it: `pds.catalog-7-0f3a….sqlite` is one of `pds.sqlite`, first named by
 * release 7. A file that an event of the log names never changes again, and no name is used twice.
 */

/** The name of a database's file without its extension, and the extension. */
function partsOf(path: string): { stem: string; extension: string } {
  const name = basename(path);
  const extension = /\.\w+$/.exec(name)?.[0] ?? '';
  return { stem: name.slice(0, name.length - extension.length), extension };
}

/** A name for the catalog of a release, without the folder. */
export function newCatalogName(path: string, release: number): string {
  const { stem, extension } = partsOf(path);
  return `${stem}.catalog-${release}-${randomBytes(8).toString('hex')}${extension}`;
}

/** The path of a catalog that the log of a database names. */
export function catalogPath(path: string, name: string): string {
  // A name from a log that was tampered with must not lead elsewhere.
  return join(dirname(path), basename(name));
}

const CATALOG_NAME = /^(.+)\.catalog-\d+-[0-9a-f]{16}(\.\w+)?(-journal)?$/s;

/** The paths of all catalogs of a database, named by its log or not. */
export function listCatalogFiles(path: string, withJournals = false): string[] {
  const folder = dirname(path);
  if (!existsSync(folder)) return [];
  const { stem, extension } = partsOf(path);
  const isOwn = (name: string): boolean => {
    const [, ownStem, ownExtension = '', journal] = CATALOG_NAME.exec(name) ?? [];
    return ownStem === stem && ownExtension === extension && (withJournals || journal === undefined);
  };
  return readdirSync(folder)
    .filter(isOwn)
    .map((name) => join(folder, name));
}

/** The size of the largest catalog in bytes, which the next import copies at most; 0 before the first. */
export function largestCatalogBytes(path: string): number {
  return Math.max(0, ...listCatalogFiles(path).map((file) => statSync(file, { throwIfNoEntry: false })?.size ?? 0));
}

/** A file that matters only for its lock, which an import holds until its process ends. */
export function lockFileOf(path: string): string {
  const { stem, extension } = partsOf(path);
  return join(dirname(path), `${stem}.import-lock${extension}`);
}
