import { reasonOf } from '../database/postgres/postgres-errors.ts';
import { fail, ok, warn, type Finding } from './finding.ts';

const about = 'cluster';

const TIMEOUT_MS = 3_000;

/** A replica that lags by more is not read from through `ops/cluster/haproxy.cfg`. */
const MAX_LAG_BYTES = 64 * 1024 * 1024;

/** From Patroni's REST API: https://patroni.readthedocs.io/en/latest/rest_api.html */
interface Cluster {
  readonly members: readonly Member[];
  readonly pause?: boolean;
}

interface Member {
  readonly name: string;
  readonly role: string;
  readonly state: string;
  /** In bytes, or `unknown`. Absent for the leader. */
  readonly lag?: number | string;
}

/** Checks a cluster of Patroni by the REST API of one of its members: `http://HOST:8008`. */
export async function checkPatroni(url: string): Promise<Finding[]> {
  const read = async (path: string): Promise<unknown> => {
    const response = await fetch(new URL(path, url), { signal: AbortSignal.timeout(TIMEOUT_MS) });
    if (!response.ok) throw new Error(`${path} returned ${response.status}`);
    return response.json();
  };
  try {
    const [cluster, settings] = await Promise.all([read('/cluster'), read('/config')]);
    return findingsOf(cluster as Cluster, (settings as { synchronous_mode?: unknown }).synchronous_mode === true);
  } catch (error) {
    const reason = reasonOf(error instanceof Error && error.cause !== undefined ? error.cause : error);
    const advice =
      'Check that Patroni runs on that host, and that this one can reach its port. Or name another member.';
    return [fail(about, `Patroni does not respond: ${reason}`, advice)];
  }
}

function findingsOf({ members, pause = false }: Cluster, isSynchronous: boolean): Finding[] {
  const troubles = [...members.flatMap(troubleOf)];
  if (!members.some(({ role, state }) => role.endsWith('leader') && state === 'running')) {
    const advice = 'Look at the logs of Patroni and etcd: a primary needs most of the members of etcd.';
    troubles.push(fail(about, 'no member is the primary: there are no writes', advice));
  }
  if (!isSynchronous) {
    const advice = 'Set synchronous_mode with "patronictl edit-config", or run "pds recover" after each promotion.';
    troubles.push(warn(about, 'synchronous mode is off: a promotion can lose changes', advice));
  } else if (!members.some(({ role }) => role === 'sync_standby')) {
    const advice = 'Start a replica: until one has caught up, none can be promoted without losing changes.';
    troubles.push(warn(about, 'there is no synchronous standby', advice));
  }
  if (pause) troubles.push(warn(about, 'it is paused: no replica is promoted', 'Run "patronictl resume".'));
  const shown = members.map(
    ({ name, role, lag }) => `${name} (${role}${lag === undefined ? '' : `, lag ${lag} bytes`})`,
  );
  return [...troubles, ...(troubles.length === 0 ? [ok(about, shown.join(', '))] : [])];
}

function troubleOf({ name, state, lag = 0 }: Member): Finding[] {
  if (state !== 'running' && state !== 'streaming') {
    const advice = `Look at Patroni's log on its host. If it cannot follow, run "patronictl reinit" for it.`;
    return [warn(about, `${name} is ${state}`, advice)];
  }
  if (typeof lag === 'number' && lag <= MAX_LAG_BYTES) return [];
  const advice = 'It is read from again once it has caught up. If it never does, it is too slow: "patronictl reinit".';
  return [warn(about, `${name} lags by ${typeof lag === 'number' ? `${lag} bytes` : 'an unknown amount'}`, advice)];
}
