import { DOCUMENTS, readCommandBlocks } from './documents.ts';

/** The tests in test/operating that run blocks of commands verbatim. */
type Runner =
  | 'converting.sqlite'
  | 'documents.sqlite'
  | 'documents.postgres'
  | 'procedures.sqlite'
  | 'procedures.postgres'
  | 'three-hosts';

/** Why no test runs a block. commands.unit.test.ts still checks its commands, options, settings and files. */
interface NotRun {
  readonly because: string;
}

/** Every block of commands in the documents, by its first line. */
export const COMMAND_BLOCKS: Readonly<Record<string, Readonly<Record<string, Runner | NotRun>>>> = {
  'README.md': {
    'npm ci && npm start': { because: 'demo.test.ts runs `npm start`' },
    "curl -H 'Authorization: Bearer pds_test_demodemo_ThisKeyIsPublishedForEveryoneToTryDemo092oRd' 'http://127.0.0.1:8080/v1/contracts?q=asphalt&limit=1'":
      'documents.sqlite',
    'npm ci && npm test': { because: 'this is the command that runs the tests' },
    'export PDS_DATABASE_URL=sqlite:data/mine.sqlite': 'documents.sqlite',
  },
  'CONTRIBUTING.md': {
    'npm run bench -- list detail --sizes 10000 --no-peers --report /tmp/report': {
      because: 'it measures for minutes',
    },
  },
  'portal/README.md': {
    'npm run dev -w portal      # preview with live reload (no search, no API behind it)': {
      because: 'the tests build the site by themselves',
    },
  },
  'SECURITY.md': { 'git log -p | npx pds key find': 'documents.sqlite' },
  'client/README.md': {
    'npm install http://127.0.0.1:8080/docs/partner-data-client-3.1.0.tgz': {
      because: 'client-package.sqlite.test.ts installs it',
    },
  },
  'client/MIRROR.md': {
    'export PARTNER_DATA_URL=http://127.0.0.1:8080': { because: 'client-package.sqlite.test.ts runs it' },
    'partner-data-mirror --sqlite copy.sqlite --watch 5m': { because: 'it runs until it is stopped' },
    'partner-data-mirror --sqlite copy.sqlite --json': {
      because: 'package.test.ts runs the installed mirror',
    },
    "partner-data-mirror --sqlite copy.sqlite --watch 5m --on-change './update-search-index'": {
      because: 'it runs until it is stopped',
    },
  },
  'docs/operators/README.md': {
    'npx pds serve': 'documents.sqlite',
    'node_modules/.bin/node src/main.js serve': 'documents.sqlite',
  },
  'docs/operators/install.md': {
    'sudo useradd --system --home-dir /var/lib/partner-data-service --shell /usr/sbin/nologin pds': 'procedures.sqlite',
    'sudo systemctl daemon-reload': 'procedures.sqlite',
    'systemctl status partner-data-service': { because: 'it needs systemd' },
    'sudo install -m 644 /opt/partner-data-service/current/ops/nginx.conf /etc/nginx/conf.d/partner-data-service.conf':
      {
        because: 'nginx.sqlite.test.ts starts nginx with this file, without installing it',
      },
  },
  'docs/operators/containers.md': {
    'docker build --file Containerfile --tag partner-data-service:2.2.4 .': {
      because: 'image.sqlite.test.ts builds and runs the image with Buildah',
    },
    'install -m 600 /dev/null partner-data-service.env': { because: 'it needs a container engine' },
    'curl -H "Authorization: Bearer $(cat acme.key)" \'http://127.0.0.1:8080/v1/contracts?limit=1\'': {
      because: 'it needs a container engine',
    },
    'install -m 600 /dev/null postgres.env': { because: 'it needs a container engine' },
  },
  'docs/operators/configure.md': {
    'npx pds --config /etc/pds/settings check': { because: 'it names a file of another machine' },
    'createdb pds --owner pds': 'documents.postgres',
    'npx pds transfer postgres://pds@127.0.0.1:5432/pds': { because: 'transfer.both.test.ts runs it' },
  },
  'docs/operators/importing.md': { 'npx pds import sample': 'documents.sqlite' },
  'docs/operators/undo-an-import.md': {
    'npx pds releases': 'documents.sqlite',
    'npx pds rollback': 'documents.sqlite',
    'npx pds export exports/2026-11-21': 'documents.sqlite',
    'npx pds diff exports/2026-11-21 --replace': 'documents.sqlite',
    'npx pds import exports/2026-11-21 --replace': 'documents.sqlite',
  },
  'docs/operators/converting.md': {
    'export PDS_DATABASE_URL=sqlite:data/springfield.sqlite': 'converting.sqlite',
    'curl -H "Authorization: Bearer $(cat acme.key)" \'http://127.0.0.1:8080/v1/contracts\'': 'converting.sqlite',
    'npx pds convert csv --map every-week.json --out every-week': 'converting.sqlite',
    'mkdir -p from-postgres': 'documents.postgres',
    'npx pds convert ocds releases.json --out from-ocds --contracts signed': 'converting.sqlite',
  },
  'docs/operators/weekly.md': {
    'sudo -u pds /opt/partner-data-service/current/ops/weekly.sh /srv/catalog': 'converting.sqlite',
    'sudo pds import /srv/catalog/weeks/new_2026-11-27_060000 --replace': 'converting.sqlite',
    'sudo pds import /srv/catalog/weeks/2026-11-20_060000 --replace': 'converting.sqlite',
  },
  'docs/operators/partners-and-keys.md': {
    'npx pds partner create acme': 'documents.sqlite',
    'npx pds explain acme suppliers sup_pa_pictometry_international_6002': 'documents.sqlite',
    'KEY=$(npx pds key issue acme --expires-in 365d --label billing)': 'documents.sqlite',
    'npx pds key rotate aHUQ44AN': 'documents.sqlite',
    'sudo pds key revoke KEY_ID': 'procedures.sqlite',
    'sudo pds key rotate KEY_ID --overlap 1h': 'procedures.sqlite',
    'sudo pds key list acme': 'procedures.sqlite',
    'journalctl -u partner-data-service -o cat | grep \'"keyId":"KEY_ID"\'': { because: 'it needs systemd' },
    'npx pds usage': 'documents.sqlite',
  },
  'docs/operators/upgrading.md': {
    'sudo git clone https://git.example.com/partner-data-service /opt/partner-data-service/2.2.4': 'procedures.sqlite',
    'sudo pds migrate': 'procedures.sqlite',
    'sudo systemctl restart partner-data-service': 'procedures.sqlite',
    'for port in 8081 8082; do': 'procedures.sqlite',
  },
  'docs/operators/monitoring.md': {
    'curl http://127.0.0.1:8081/readyz': 'documents.sqlite',
  },
  'docs/operators/traces.md': {
    'sudo mkdir /opt/partner-data-service/tracing': { because: 'it installs packages that the project does not need' },
  },
  'docs/operators/several-processes.md': {
    'sudo install -m 644 /opt/partner-data-service/current/ops/partner-data-service@.service /etc/systemd/system/partner-data-service@.service':
      'procedures.sqlite',
  },
  'docs/operators/several-machines.md': {
    'ops/cluster/try.sh': { because: 'patroni.postgres.test.ts runs it' },
    'N=1': 'three-hosts',
    '/opt/partner-data-service/current/ops/cluster/prepare.sh ~/cluster 10.0.0.11 10.0.0.12 10.0.0.13 10.0.0.10':
      'three-hosts',
    'cd ~/host': 'three-hosts',
    'until curl -fs --cacert ca.pem --cert host.pem --key host.key https://10.0.0.11:2379/health; do sleep 1; done':
      'three-hosts',
    'sudo systemctl daemon-reload': 'three-hosts',
    'sudo pds import /opt/partner-data-service/current/sample': 'three-hosts',
    'sudo systemctl stop partner-data-service': 'three-hosts',
    "PDS_DATABASE_URL='postgres://pds@primary/pds'": { because: 'these are settings for other machines' },
    "pg_basebackup --dbname='host=10.0.0.21 user=replicator application_name=replica_2' --pgdata=/var/lib/postgresql/15/main --write-recovery-conf --create-slot --slot=replica_2 --checkpoint=fast":
      'procedures.postgres',
    "psql -d pds <<'SQL'": 'procedures.postgres',
    'psql -d pds -Atc "select format(\'\\"%s\\" \\"%s\\"\', rolname, rolpassword) from pg_authid where rolname = \'pds\'" > userlist.txt':
      'procedures.postgres',
    "PDS_REDIS_URL='redis://:secret@10.0.0.31:6379'": { because: 'these are settings for other machines' },
  },
  'docs/operators/backup-and-recovery.md': {
    'npx pds backup backups/2026-11-21': 'documents.sqlite',
    'cd /opt/partner-data-service/current/ops': 'procedures.sqlite',
    'npx pds restore backups/2026-11-21 --yes': 'documents.sqlite',
    'pg_dump --format=custom --file=pds.dump "$PDS_DATABASE_URL"': 'documents.postgres',
    'createdb --owner pds pds_restored': 'documents.postgres',
  },
  'docs/operators/security.md': {
    'PDS_DATABASE_URL=postgres://pds@127.0.0.1:5432/pds npx pds roles': 'documents.postgres',
    "export PDS_DATABASE_URL='postgres://pds:secret@db.internal:5432/pds?sslmode=verify-full&sslrootcert=/etc/pds/ca.pem'":
      { because: 'it is a setting for another machine' },
    'npx pds audit --partner acme': 'documents.sqlite',
  },
  'docs/operators/troubleshooting.md': {
    'npx pds check': 'documents.sqlite',
    'journalctl -u partner-data-service -o cat | grep req_BXG06278fmqSRpo3OekZBA': 'documents.sqlite',
  },
};

/** The partners' guides, whose examples test/portal runs. */
const GUIDES = 'docs/partner-guide/';

/** Every document with blocks of commands that test/portal does not run. */
export const DOCUMENTS_WITH_COMMANDS: readonly string[] = DOCUMENTS.filter(
  (file) => !file.startsWith(GUIDES) && readCommandBlocks(file).length > 0,
);

/** The blocks that a test must run, as `document: first line`, in alphabetical order. */
export function blocksRunBy(runner: Runner): string[] {
  return Object.entries(COMMAND_BLOCKS)
    .flatMap(([file, blocks]) =>
      Object.entries(blocks)
        .filter(([, how]) => how === runner)
        .map(([start]) => `${file}: ${start}`),
    )
    .sort();
}
