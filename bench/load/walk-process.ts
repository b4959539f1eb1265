import { Agent, request } from 'node:http';
import { json } from 'node:stream/consumers';
import type { WalkOptions, WalkOutcome } from './walk.ts';

/* A program: walks a list to its end, page after page, and prints how many records it held. */

const { port, headers, path } = (await json(process.stdin)) as WalkOptions;
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const startedAt = performance.now();
let records = 0;
let cursor: string | null = null;

do {
  const body = await ask(cursor === null ? path : `${path}&cursor=${cursor}`);
  // The cursor stands at the end, and parsing a whole page would be the client's time, not the server's.
  const end: string = body.slice(body.lastIndexOf('"meta"'));
  const found: RegExpExecArray | null = /"next_cursor":(?:"([^"]+)"|null)/.exec(end);
  if (found === null) throw new Error(`no cursor in ${end}`);
  cursor = found[1] ?? null;
  records += body.split('"is_open":').length - 1;
} while (cursor !== null);

agent.destroy();
const outcome: WalkOutcome = { records, seconds: (performance.now() - startedAt) / 1000 };
process.stdout.write(JSON.stringify(outcome));

function ask(address: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = request({ agent, port, host: '127.0.0.1', path: address, headers }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.once('end', () => {
        const body = Buffer.concat(chunks).toString('latin1');
        if (answer.statusCode === 200) resolve(body);
        else reject(new Error(`${answer.statusCode ?? 0}: ${body}`));
      });
    });
    sent.once('error', reject).end();
  });
}
