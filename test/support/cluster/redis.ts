import { findLastingPort } from '../free-port.ts';
import { answers } from './answers.ts';
import { fillIn } from './operator-file.ts';
import { Part } from './part.ts';
import type { Workspace } from './workspace.ts';

const PASSWORD = 'redis-test-password';

/** Redis with the settings of the operators' guide. */
export class RedisPart extends Part {
  readonly url: string;

  constructor(workspace: Workspace, port: number, configuration: string) {
    super(workspace, {
      name: 'redis',
      program: 'redis-server',
      args: () => [configuration],
      stopSignal: 'SIGTERM',
      isReady: () => answers(port, `AUTH ${PASSWORD}\r\n`, '+OK'),
    });
    this.url = `redis://:${PASSWORD}@127.0.0.1:${port}`;
  }
}

export async function startRedis(workspace: Workspace): Promise<RedisPart> {
  const port = await findLastingPort();
  const configuration = fillIn('redis.conf', {
    'bind 10.0.0.31': 'bind 127.0.0.1',
    'port 6379': `port ${port}`,
    'replace-this-by-a-long-random-password': PASSWORD,
  });
  const redis = new RedisPart(workspace, port, workspace.write('redis.conf', configuration));
  await redis.start();
  return redis;
}
