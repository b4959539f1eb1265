// https://www.sqlite.org/rescode.html: primary codes, the low byte of Node's `errcode`.
export const SQLITE_ERROR = 1;
export const SQLITE_BUSY = 5;
export const SQLITE_LOCKED = 6;
export const SQLITE_READONLY = 8;
export const SQLITE_IOERR = 10;
export const SQLITE_CORRUPT = 11;
export const SQLITE_FULL = 13;
export const SQLITE_CANTOPEN = 14;
export const SQLITE_NOTADB = 26;

/** The SQLite primary result code of an error; null for any other error. */
export function sqliteCode(error: unknown): number | null {
  const { code, errcode } = (error ?? {}) as { code?: unknown; errcode?: unknown };
  return code === 'ERR_SQLITE_ERROR' && typeof errcode === 'number' ? errcode & 0xff : null;
}
