import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
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

/** A file that only its lock matters of: an import holds it, and loses it when its process ends. */
export function lockFileOf(path: string): string {
  const { stem, extension } = partsOf(path);
  return join(dirname(path), `${stem}.import-lock${extension}`);
}

/** The file with the partners and keys of version 1.3, whose catalog was at the database's path. */
export function formerAccessFile(path: string): string {
  return path.replace(/(\.\w+)?$/, '.access$1');
}
