/** The database cannot be opened or reached, or is not one of this service. The message says what to do. */
export class DatabaseUnavailableError extends Error {
  override name = 'DatabaseUnavailableError';
}

/** The schema is older or newer than this version of the service. The message says what to do. */
export class SchemaVersionError extends Error {
  override name = 'SchemaVersionError';
}
