import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';

/** Requests a page that is the same for every partner, and reads its body. */
export async function ask(port: number, agent: Agent, key: string): Promise<IncomingMessage> {
  const request = get({
    port,
    host: '127.0.0.1',
    path: '/v1/coops',
    agent,
    headers: { authorization: `Bearer ${key}` },
  });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  response.resume();
  await once(response, 'end');
  return response;
}

/** Sends N requests, one after the other, over each of several connections in parallel, to the ports in turn. */
export async function askOften(
  ports: readonly number[],
  key: string,
  timesByConnection: readonly number[],
): Promise<IncomingMessage[]> {
  const connections = timesByConnection.map(async (times, index) => {
    const port = ports[index % ports.length] ?? 0;
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const answers: IncomingMessage[] = [];
    for (let time = 0; time < times; time += 1) answers.push(await ask(port, agent, key));
    agent.destroy();
    return answers;
  });
  return (await Promise.all(connections)).flat();
}

/** The number of responses by status. */
export function countByStatus(answers: readonly IncomingMessage[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { statusCode } of answers) counts[String(statusCode)] = (counts[String(statusCode)] ?? 0) + 1;
  return counts;
}
