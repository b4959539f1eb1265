import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

/** An answer of a tool. */
export interface Answer {
  readonly text: string;
  readonly isError: boolean;
  /** The records between the marks. */
  readonly records: readonly Record<string, unknown>[];
}

/** The requests of an assistant to the server, which runs as a process of its own. */
export interface Assistant {
  readonly client: Client;
  readonly call: (name: string, given?: Readonly<Record<string, unknown>>) => Promise<Answer>;
  close(): Promise<void>;
}

/** Starts the server, and connects to it. The caller closes it. */
export async function startAssistant(url: string, key: string): Promise<Assistant> {
  const client = new Client({ name: 'test', version: '1.0.0' });
  const env = { PARTNER_DATA_URL: url, PARTNER_DATA_KEY: key };
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [MAIN], env, stderr: 'inherit' }));
  return {
    client,
    async call(name, given = {}) {
      const { content, isError = false } = await client.callTool({ name, arguments: given });
      const text = content.map((part) => (part.type === 'text' ? part.text : '')).join('');
      const [, data = ''] = /\n<data>\n([^]*)\n<\/data>\n/.exec(text) ?? [];
      const lines = data.split('\n').filter((line) => line !== '');
      return { text, isError, records: lines.map((line) => JSON.parse(line) as Record<string, unknown>) };
    },
    close: () => client.close(),
  };
}

/** Calls a search again and again with the cursor of the answer before. */
export async function callToTheEnd(
  { call }: Assistant,
  name: string,
  given: Readonly<Record<string, unknown>>,
): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
    const answer = await call(name, { ...given, ...(cursor !== undefined && { cursor }) });
    answers.push(answer);
    const [, next] = /and cursor ("[^"]+")/.exec(answer.text) ?? [];
    cursor = next === undefined ? undefined : (JSON.parse(next) as string);
  }
  return answers;
}
