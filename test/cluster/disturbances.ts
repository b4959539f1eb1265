import { setTimeout as delay } from 'node:timers/promises';
import type { Cluster } from '../support/cluster/cluster.ts';
import type { Outages } from './outages.ts';

/** How long nginx can skip a failed service; it counts whole seconds (`fail_timeout` in ops/nginx.conf). */
const SKIPPED_MS = 11_500;

/** A disturbance of the cluster; `meanwhile` resolves when enough requests have encountered it. */
export interface Disturbance {
  readonly name: string;
  run(cluster: Cluster, outages: Outages, meanwhile: () => Promise<void>): Promise<void>;
}

/** Each restores the cluster. */
export const DISTURBANCES: readonly Disturbance[] = [
  {
    name: 'a replica is killed and restarted',
    async run({ replicas: [replica] }, _outages, meanwhile) {
      await replica?.kill();
      await meanwhile();
      await replica?.start();
    },
  },
  {
    name: 'a replica lags behind the other',
    async run({ replicas: [, replica] }, _outages, meanwhile) {
      await replica?.pauseReplay();
      await meanwhile();
      await replica?.resumeReplay();
    },
  },
  {
    name: 'both replicas lag, one of them for longer',
    async run({ replicas }, _outages, meanwhile) {
      for (const replica of replicas) await replica.pauseReplay();
      await meanwhile();
      await replicas[0]?.resumeReplay();
      await meanwhile();
      await replicas[1]?.resumeReplay();
    },
  },
  {
    name: 'Redis is killed and restarted',
    async run({ redis }, _outages, meanwhile) {
      await redis.kill();
      await meanwhile();
      await redis.start();
    },
  },
  {
    name: 'PgBouncer is restarted',
    run: ({ pgbouncer }, outages) => outages.during(() => pgbouncer.restart()),
  },
  {
    name: 'the services are restarted one after the other',
    async run({ services }, _outages, meanwhile) {
      for (const service of services) {
        await service.stop();
        await meanwhile();
        await service.start();
        await meanwhile();
        await delay(SKIPPED_MS);
      }
    },
  },
  {
    name: 'the primary is restarted',
    run: ({ primary }, outages) => outages.during(() => primary.restart()),
  },
  {
    name: 'the primary is killed and down for a while',
    run: ({ primary }, outages, meanwhile) =>
      outages.during(async () => {
        await primary.kill();
        await meanwhile();
        await primary.start();
      }),
  },
];
