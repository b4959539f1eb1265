import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';

/** Requests a page, by default one that is the same for every partner, and reads its body. */
export async function send(port: number, agent: Agent, key: string, path = '/v1/coops'): Promise<IncomingMessage> {
  const request = get({ port, host: '127.0.0.1', path, agent, headers: { authorization: `Bearer ${key}` } });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  response.resume();
  await once(response, 'end');
  return response;
}

/** Sends N requests, one after the other, over each of several connections in parallel, to the ports in turn. */
export async function sendToEach(
  ports: readonly number[],
  key: string,
  timesByConnection: readonly number[],
): Promise<IncomingMessage[]> {
  const connections = timesByConnection.map(async (times, index) => {
    const port = ports[index % ports.length] ?? 0;
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const responses: IncomingMessage[] = [];
    for (let time = 0; time < times; time += 1) responses.push(await send(port, agent, key));
    agent.destroy();
    return responses;
  });
  return (await Promise.all(connections)).flat();
}

/**
 * Runs clients that send requests without pause, each over its own connection, until the server closes it.
 *
 * @param onResponse receives the number of responses so far.
 */
export async function runUntilClosed(
  port: number,
  key: string,
  clients: number,
  onResponse: (count: number) => void,
): Promise<{ responses: number; failures: string[] }> {
  const result = { responses: 0, failures: [] as string[] };
  const run = async (): Promise<void> => {
    const agent = new Agent({ keepAlive: true });
    try {
      for (;;) {
        const { statusCode, headers } = await send(port, agent, key);
        if (statusCode !== 200) result.failures.push(String(statusCode));
        onResponse((result.responses += 1));
        if (headers.connection === 'close') return;
      }
    } catch (error) {
      result.failures.push(String(error));
    } finally {
      agent.destroy();
    }
  };
  await Promise.all(Array.from({ length: clients }, run));
  return result;
}
