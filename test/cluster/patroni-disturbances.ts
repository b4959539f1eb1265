import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { timeUntil } from '../support/time-until.ts';
import type { PatroniCluster } from './patroni.ts';
import { isPrimary } from './primary-watch.ts';

const ETCD = ['etcd-1', 'etcd-2', 'etcd-3'];

/**
 * The failures that the cluster must survive, by name.
 *
 * @param losePrimary takes the primary away by a function, measures how long it is missed, and returns its name.
 */
export function disturbancesOf(
  cluster: PatroniCluster,
  losePrimary: (name: string, lose: (leader: string) => Promise<unknown>) => Promise<string>,
): Record<string, () => Promise<unknown>> {
  const replica = async (): Promise<string> =>
    (await cluster.members()).find(({ role }) => role === 'replica')?.name ?? expect.fail();
  const replace = async (part: string): Promise<void> => {
    await cluster.tell('signal', 'KILL', part);
    await delay(3_000);
    await cluster.tell('start', part);
  };
  return {
    'the primary crashes': () => losePrimary('crash', (leader) => cluster.killPostgres(leader)),
    'a switchover': () => losePrimary('switchover', () => cluster.switchover()),
    "the primary's host is lost": async () =>
      cluster.tell('start', await losePrimary('host lost', (leader) => cluster.tell('signal', 'KILL', leader))),
    "the primary's host freezes, and continues when there is another": async () =>
      cluster.tell('signal', 'CONT', await losePrimary('frozen', (leader) => cluster.tell('signal', 'STOP', leader))),
    'a replica is lost': async () => replace(await replica()),
    'etcd loses a member': () => replace('etcd-2'),
    'etcd hangs, until the primary has stepped down': () =>
      losePrimary('no etcd', async () => {
        for (const part of ETCD) await cluster.tell('signal', 'STOP', part);
        while (await isPrimary(cluster.databaseUrl)) await delay(100);
        for (const part of ETCD) await cluster.tell('signal', 'CONT', part);
      }),
    'Redis loses its primary': async () => {
      const isReplaced = (): boolean => cluster.logOf('sentinel-1').includes('+switch-master pds');
      const isCounting = (service: string): boolean => {
        const log = cluster.logOf(service);
        return log.lastIndexOf('Redis counts requests') > log.lastIndexOf('Redis does not count requests');
      };
      await cluster.tell('signal', 'KILL', 'redis-1');
      await timeUntil(() => Promise.resolve(isReplaced() && ['service-1', 'service-2'].every(isCounting)));
      await cluster.tell('start', 'redis-1');
    },
    'HAProxy is restarted': async () => {
      for (const part of ['haproxy-1', 'haproxy-2']) {
        await cluster.tell('stop', part);
        await cluster.tell('start', part);
      }
    },
  };
}
