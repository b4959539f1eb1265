import { fileURLToPath } from 'node:url';
import { SCHEMAS } from '../../../src/database/migrations/schemas.ts';
import { statementsOf, type GroupSchema } from '../../../src/database/migrations/schema.ts';

// A version after this one, whose tables differ a little: the tests of upgrades migrate to it.

/** The migrations from this version to that one. */
export const UPGRADE = ['access 10: notes on partners', 'catalog 10: notes on records'];

/** The schema numbers that this version leaves in the ledger. */
export const CURRENT_NUMBERS = { catalog: SCHEMAS.catalog.number, access: SCHEMAS.access.number };

/** The sources' command, since a bundled one has no module to change. */
export const SOURCE_MAIN = fileURLToPath(new URL('../../../src/main.js', import.meta.url));

/** With these settings, the sources' command is that version's. */
export const LATER_SETTINGS = {
  NODE_OPTIONS: `--import=${fileURLToPath(new URL('./later-process.ts', import.meta.url))}`,
};

const CATALOG = `
create table catalog.notes (id TEXT primary key, note text not null);
insert into catalog.notes (id, note) select id, name from catalog.coops;
index catalog.contracts (updated_at);
alter table catalog.suppliers add column note text;
update catalog.suppliers set note = '';
alter table catalog.contracts add column note text;
update catalog.contracts set note = '';
`;

const ACCESS = `
alter table access.partners add column note text;
create table access.notes (id TEXT primary key, note text not null);
insert into access.notes (id, note) select name, name from access.partners;
`;

function laterSchema(schema: GroupSchema, name: string, text: string): GroupSchema {
  return {
    ...{ number: schema.number + 1, name: schema.name, oldestServed: schema.number },
    create: (engine) => [...schema.create(engine), ...statementsOf(engine, text)],
    upgrade: { name, from: schema.number, statements: (engine) => statementsOf(engine, text) },
  };
}

/** Makes this process that version until the result is disposed of. */
export function becomeLaterVersion(): Disposable {
  const current = { ...SCHEMAS };
  Object.assign(SCHEMAS, {
    catalog: laterSchema(current.catalog, 'notes on records', CATALOG),
    access: laterSchema(current.access, 'notes on partners', ACCESS),
  });
  return { [Symbol.dispose]: () => void Object.assign(SCHEMAS, current) };
}
