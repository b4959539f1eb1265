import { createReadStream, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import pg from 'pg';

const ROWS_AT_ONCE = 2_000;

const COLUMNS = `id, ref, reference_number, title, status, issuing_organization, lead_entity_id, open_at, close_at,
  questions_due_at, intent_to_bid_due_at, description, require_intent_registration, created_at, updated_at,
  nigp_codes, documents, requested_items, notices, questions`;

const insertInto = (table: string): string =>
  `insert into plain.${table} select * from json_populate_recordset(null::plain.${table}, $1)`;

/** The statements that load each file; $1 is a JSON array of its lines. */
const STATEMENTS: Readonly<Record<string, readonly string[]>> = {
  'lead-entities': [insertInto('lead_entities')],
  coops: [insertInto('coops')],
  'city-services': [insertInto('city_services')],
  suppliers: [insertInto('suppliers')],
  contracts: [
    insertInto('contracts'),
    `insert into plain.contract_suppliers select line ->> 'id', supplier, place
     from json_array_elements($1) line, json_array_elements_text(line -> 'supplier_ids') with ordinality as s (supplier, place)`,
    `insert into plain.contract_city_services select line ->> 'id', service, place
     from json_array_elements($1) line, json_array_elements_text(line -> 'city_service_ids') with ordinality as s (service, place)`,
  ],
  solicitations: [
    `insert into plain.solicitations (${COLUMNS}, words)
     select ${COLUMNS}, to_tsvector('english', concat_ws(' ', title, reference_number, description))
     from json_populate_recordset(null::plain.solicitations, $1)`,
  ],
};

/** Loads the generated records into the plain tables and creates their indexes. */
export async function loadPlainTables(url: string, data: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(readSql('plain-tables.sql'));
    for (const [file, statements] of Object.entries(STATEMENTS)) {
      for await (const lines of readLines(join(data, `${file}.ndjson`))) {
        for (const statement of statements) await client.query(statement, [`[${lines.join(',')}]`]);
      }
    }
    for (const statement of readSql('plain-indexes.sql').split(';')) {
      if (statement.trim() !== '') await client.query(statement);
    }
  } finally {
    await client.end();
  }
}

async function* readLines(file: string): AsyncGenerator<string[]> {
  let lines: string[] = [];
  for await (const line of createInterface({ input: createReadStream(file) })) {
    lines.push(line);
    if (lines.length < ROWS_AT_ONCE) continue;
    yield lines;
    lines = [];
  }
  if (lines.length > 0) yield lines;
}

function readSql(name: string): string {
  return readFileSync(new URL(name, import.meta.url), 'utf8');
}
