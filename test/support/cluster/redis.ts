import { findLastingPort } from '../free-port.ts';
import { answers } from './answers.ts';
import { fillIn } from './operator-file.ts';
import { startPart } from './part.ts';
import type { Workspace } from './workspace.ts';

const PASSWORD = 'redis-test-password';

export type RedisPart = Awaited<ReturnType<typeof startRedis>>;

/** Starts Redis with the settings of the operators' guide. */
export async function startRedis(workspace: Workspace) {
  const port = await findLastingPort();
  const configuration = fillIn('redis.conf', {
    'bind 10.0.0.31': 'bind 127.0.0.1',
    'port 6379': `port ${port}`,
    'replace-this-by-a-long-random-password': PASSWORD,
  });
  const path = workspace.write('redis.conf', configuration);
  const isReady = (): Promise<boolean> => answers(port, `AUTH ${PASSWORD}\r\n`, '+OK');
  return startPart(
    workspace,
    { name: 'redis', program: 'redis-server', args: () => [path], stopSignal: 'SIGTERM', isReady },
    { url: `redis://:${PASSWORD}@127.0.0.1:${port}` },
  );
}
