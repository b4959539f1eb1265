import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test as plainTest } from 'vitest';
import { DOCUMENTS, readCodeSpans } from '../docs/documents.ts';
import { databaseForAllTests } from '../support/database.ts';
import { getAdmin } from '../support/process/administrator.ts';
import { testWith } from '../support/installed-programs.ts';
import { makePartner } from '../support/partners.ts';
import { metricsIn } from '../support/network/promql.ts';
import { newFolder } from '../support/new-folder.ts';
import { publishLines, SMALL_CATALOG } from '../support/publishing.ts';
import { startServing } from '../support/serving-process.ts';

const test = testWith('prometheus');
const run = promisify(execFile);

const fileOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const ALERTS = fileOf('../../ops/alerts.yml');
const ALERTS_TESTS = fileOf('alerts-tests.yml');
const GUIDE = fileOf('../../docs/operators/monitoring.md');
const DASHBOARD = fileOf('../../ops/grafana-dashboard.json');

/** Added by Prometheus itself. */
const OF_PROMETHEUS = { metrics: ['up'], labels: ['job', 'instance'] };

interface Panel {
  readonly type: string;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string }[];
}

// Their number is compared with promtool's.
const RULE = /^ +- alert: (\w+)\n +expr: (?:\|\n((?: {10,}.*\n)+)|(.*)\n)/gm;
const rules = [...readFileSync(ALERTS, 'utf8').matchAll(RULE)].map(([, alert = '', block, line]) => ({
  alert,
  expr: block ?? line ?? '',
}));
const { panels } = JSON.parse(readFileSync(DASHBOARD, 'utf8')) as { panels: readonly Panel[] };
const panelQueries = panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ title, expr })));

/** The names in a scrape, including the parts of histograms, each with the labels it occurred with. */
let scraped: Map<string, Set<string>>;

const made = databaseForAllTests();
beforeAll(async () => {
  await publishLines(made.database, SMALL_CATALOG);
  const { key } = await makePartner(made.database, Date.now, { name: 'acme', everything: true, requestsPerMinute: 3 });
  await using serving = startServing(made.config);
  const client = await serving.client();
  for (let time = 0; time < 5; time += 1) await client.get('/v1/contracts', { key });
  scraped = namesIn((await getAdmin(await serving.adminPort(), '/metrics')).body);
});

function namesIn(body: string): Map<string, Set<string>> {
  const names = new Map<string, Set<string>>();
  for (const [, name = '', type] of body.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
    const parts = type === 'histogram' ? ['_bucket', '_sum', '_count'] : [''];
    for (const part of parts) names.set(name + part, new Set());
  }
  for (const [, name = '', labels = ''] of body.matchAll(/^([a-z_]+)(?:\{(.*)\})? \S+$/gm)) {
    for (const [, label = ''] of labels.matchAll(/(\w+)="/g)) names.get(name)?.add(label);
  }
  return names;
}

/** The metrics and labels of a query that no scrape has. The test of the cluster checks those of Patroni. */
function unknownIn(query: string): string[] {
  const found = metricsIn(query);
  expect(found.length).toBeGreaterThan(0);
  return found.flatMap(({ name, labels }) => {
    if (OF_PROMETHEUS.metrics.includes(name) || name.startsWith('patroni_')) return [];
    const known = scraped.get(name);
    if (known === undefined) return [name];
    // Without a sample, its labels are unknown.
    if (known.size === 0) return [];
    return labels
      .filter((label) => !known.has(label) && !OF_PROMETHEUS.labels.includes(label))
      .map((label) => `${name}{${label}}`);
  });
}

describe('every metric and label in the ops files appears in a scrape', () => {
  plainTest.each(rules.map(({ alert, expr }) => [alert, expr]))('by the alert %s', (_alert, expr) => {
    expect(unknownIn(expr)).toEqual([]);
  });

  plainTest.each(panelQueries.map(({ title, expr }) => [title, expr]))('by the panel "%s": %s', (_title, expr) => {
    expect(unknownIn(expr)).toEqual([]);
  });

  plainTest('and an unknown one would be found', () => {
    expect(unknownIn('sum by (route) (rate(pds_no_such_total{route="x"}[5m])) > 500e6 or up == 0')).toEqual([
      'pds_no_such_total',
    ]);
    expect(unknownIn('rate(pds_http_requests_total{rout="x", status!="200"}[5m])')).toEqual([
      'pds_http_requests_total{rout}',
    ]);
  });

  plainTest('and so does every metric that the guide names', () => {
    const named = [...readFileSync(GUIDE, 'utf8').matchAll(/`(pds_\w*[a-z])`/g)].map(([, name = '']) => name);
    expect(named.length).toBeGreaterThan(2);
    expect(named.filter((name) => !scraped.has(name))).toEqual([]);
  });
});

plainTest('every alert that a guide names exists', () => {
  const named = DOCUMENTS.flatMap(readCodeSpans).filter((span) => /^(PartnerDataService|Patroni)[A-Z]\w+$/.test(span));
  expect(named.length).toBeGreaterThan(2);
  expect(named.filter((name) => !rules.some(({ alert }) => alert === name))).toEqual([]);
});

plainTest('the first row of the dashboard answers four questions', () => {
  const first = panels.filter(({ gridPos }) => gridPos.y === 0);
  expect(first.map(({ title }) => title)).toEqual([
    'Are partners served?',
    'Is anyone refused?',
    'Is the data fresh?',
    'Is a copy of it safe?',
  ]);
});

plainTest('the dashboard fits on a screen or two: at most 24 panels, none of which covers another', () => {
  const filled = panels.filter(({ type }) => type !== 'row');
  expect(filled.length).toBeLessThanOrEqual(24);
  expect(filled.filter(({ targets = [] }) => targets.length === 0)).toEqual([]);
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)},${y + Math.floor(cell / w)}`),
  );
  expect(new Set(cells).size).toBe(cells.length);
});

describe('Prometheus accepts', () => {
  test('the alerts', async () => {
    const { stdout } = await run('promtool', ['check', 'rules', ALERTS]);
    expect(stdout).toContain(`SUCCESS: ${rules.length} rules found`);
  });

  test('every query of the dashboard', async () => {
    const queries = panelQueries.map(({ expr }, index) => ({
      record: `shown:${index}`,
      expr: expr.replaceAll('$__rate_interval', '5m').replaceAll(/\$\w+/g, 'x'),
    }));
    const path = join(newFolder(), 'shown.yml');
    // JSON is YAML.
    writeFileSync(path, JSON.stringify({ groups: [{ name: 'shown', rules: queries }] }));
    const { stdout } = await run('promtool', ['check', 'rules', path]);
    expect(stdout).toContain(`${panelQueries.length} rules found`);
  });
});

test('alerts fire on their conditions, and not otherwise', async () => {
  const path = join(newFolder(), 'alerts-tests.yml');
  writeFileSync(path, readFileSync(ALERTS_TESTS, 'utf8').replace('ALERTS', ALERTS));
  const { stdout, stderr } = await run('promtool', ['test', 'rules', path]);
  expect(stdout + stderr).toContain('SUCCESS');
}, 120_000);
