import { OperatorError } from '../operator-error.ts';

/** The database cannot be opened or reached, or belongs to another service. The message says what to do. */
export class DatabaseUnavailableError extends OperatorError {
  override name = 'DatabaseUnavailableError';
}

/** The database is missing or empty, and this command does not create one. The message says what to do. */
export class NoDatabaseError extends OperatorError {
  override name = 'NoDatabaseError';

  /** @param what such as `there is no database data/pds.sqlite yet`. */
  constructor(what: string) {
    super(
      `${what} (PDS_DATABASE_URL). If that is right, create one with "pds import DIR" or "pds migrate". Nothing was created`,
    );
  }
}

/** The database is up but overloaded. */
export class DatabaseBusyError extends Error {
  override name = 'DatabaseBusyError';
}

/** The schema is older or newer than this version of the service. The message says what to do. */
export class SchemaVersionError extends OperatorError {
  override name = 'SchemaVersionError';
}
