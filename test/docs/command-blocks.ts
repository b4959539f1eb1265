/**
 * Every block of commands in the operators' documents, by its first line. A test in test/operating executes `run`
 * blocks verbatim. `checked` blocks need other machines or change this one: test/docs/commands.unit.test.ts only
 * verifies that their commands, options, settings and files exist, as it does for all blocks.
 */
export const COMMAND_BLOCKS: Readonly<Record<string, Readonly<Record<string, 'run' | 'checked'>>>> = {
  'README.md': {
    'npm ci && npm start': 'checked',
    "curl -H 'Authorization: Bearer pds_test_demodemo_ThisKeyIsPublishedForEveryoneToTryDemo092oRd' 'http://127.0.0.1:8080/v1/contracts?q=asphalt&limit=1'":
      'run',
    'npm ci && npm test': 'checked',
    'export PDS_DATABASE_URL=sqlite:data/mine.sqlite': 'run',
  },
  'docs/operators.md': {
    'npx pds serve': 'run',
    'node_modules/.bin/node src/main.js serve': 'run',
    'createdb pds --owner pds': 'run',
    "PDS_DATABASE_URL='postgres://pds@primary/pds'": 'checked',
    "export PDS_DATABASE_URL='postgres://pds:secret@db.internal:5432/pds?sslmode=verify-full&sslrootcert=/etc/pds/ca.pem'":
      'checked',
    'PDS_DATABASE_URL=postgres://pds@127.0.0.1:5432/pds npx pds roles': 'run',
    'npx pds serve --workers 4': 'run',
    "PDS_REDIS_URL='redis://:secret@10.0.0.31:6379'": 'checked',
    'PDS_PROT=1 PDS_PORT=x npx pds partner list': 'run',
    'npx pds import sample': 'run',
    'npx pds partner create acme': 'run',
    'KEY=$(npx pds key issue acme --expires-in 365d)': 'run',
    'npx pds key rotate aHUQ44AN': 'run',
    'npx pds backup backups/today       # SQLite, while servers and imports run': 'run',
    'npx pds check': 'run',
    'curl http://127.0.0.1:8081/readyz': 'run',
    'OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 OTEL_TRACES_SAMPLER=parentbased_traceidratio OTEL_TRACES_SAMPLER_ARG=0.01 npx pds serve':
      'run',
    'npx pds audit --partner acme': 'run',
    'npx pds usage': 'run',
  },
  'docs/recovery.md': {
    'npx pds backup backups/2026-11-21': 'run',
    'npx pds restore backups/2026-11-21': 'run',
    'pg_dump --format=custom --file=pds.dump "$PDS_DATABASE_URL"': 'run',
    'createdb --owner pds pds_restored': 'run',
  },
  'docs/scaling.md': {},
  'SECURITY.md': { 'git log -p | npx pds key find': 'run' },
};

/** The blocks that must be run, as `document: first line`. */
export function blocksToRun(): string[] {
  return Object.entries(COMMAND_BLOCKS).flatMap(([file, blocks]) =>
    Object.entries(blocks)
      .filter(([, how]) => how === 'run')
      .map(([start]) => `${file}: ${start}`),
  );
}
