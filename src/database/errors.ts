/** The database cannot be opened or reached, or is not one of this service. The message says what to do. */
export class DatabaseUnavailableError extends Error {
  override name = 'DatabaseUnavailableError';
}

/** There is no database yet, or an empty one, and the command is none that makes one. The message says what to do. */
export class NoDatabaseError extends Error {
  override name = 'NoDatabaseError';

  /** @param what such as `there is no database data/pds.sqlite yet`. */
  constructor(what: string) {
    super(
      `${what} (PDS_DATABASE_URL): is that right? To make a new one, run "pds import DIR" or "pds migrate". Nothing was made`,
    );
  }
}

/** The database is there, and has more to do than it can. */
export class DatabaseBusyError extends Error {
  override name = 'DatabaseBusyError';
}

/** The schema is older or newer than this version of the service. The message says what to do. */
export class SchemaVersionError extends Error {
  override name = 'SchemaVersionError';
}
