/** The database cannot be opened or reached, or is not one of this service. The message says what to do. */
export class DatabaseUnavailableError extends Error {
  override name = 'DatabaseUnavailableError';
}

/** The database is there, and has more to do than it can. */
export class DatabaseBusyError extends Error {
  override name = 'DatabaseBusyError';
}

/** The schema is older or newer than this version of the service. The message says what to do. */
export class SchemaVersionError extends Error {
  override name = 'SchemaVersionError';
}
