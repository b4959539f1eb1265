import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { startPython } from '../../client/test/python/python-process.ts';
import { startFaultyServer } from '../../client/test/support/faulty-server.ts';
import type { MirrorEnd } from '../../client/test/mirror/support/mirror-process.ts';
import { startMirrorHere } from '../../client/test/mirror/support/mirror-here.ts';
import { testWith } from '../support/installed-programs.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { newFolder } from '../support/new-folder.ts';
import { publishLines, solicitation, SMALL_CATALOG } from '../support/publishing.ts';
import { serviceForAllTests } from '../support/service.ts';
import { CuttingServer } from './cutting-server.ts';
import { listExamples } from './examples.ts';
import { readText } from './site.ts';

const [MAIL, CHAT, CALENDAR] = listExamples(readText('docs/partner-guide/recipes.md'));

const folder = newFolder();
for (const [name, example] of Object.entries({ mail: MAIL, chat: CHAT, calendar: CALENDAR }))
  await writeFile(join(folder, `recipe_${name}.py`), example?.code ?? '');

const titles = [
  'Bridge; deck, north \\ south',
  'Ünïcode bridge '.repeat(10).trim(),
  'Bridge\u2028joint',
  'Paving of roads',
];
const solicitations = titles.map((title, index) => ({
  ...solicitation(`sol_${index}`, index + 1),
  title,
  description: null,
}));
const partners = [{ name: 'all', everything: true }];
const service = serviceForAllTests({ catalog: { ...SMALL_CATALOG, solicitations }, partners, clock: Date.now });
const server = forAllTests(() => CuttingServer.start(service.url));

const environment = () => ({ PARTNER_DATA_URL: server.url, PARTNER_DATA_KEY: service.partner('all').key });

/** Runs a recipe in the folder of its files. */
function run(name: string, others: Record<string, string> = {}): Promise<MirrorEnd> {
  const program = `import os, runpy; os.chdir(${JSON.stringify(folder)}); runpy.run_path("recipe_${name}.py")`;
  return startPython(['-c', program], { ...environment(), ...others }).ended;
}

async function publish(solicitations: readonly object[]): Promise<void> {
  await publishLines(service.database, { solicitations });
  await service.noticeChanges();
}

/** A mail server that takes all mail, unless it refuses it. */
async function startMailServer(): Promise<{ port: number; mails: string[]; refuses: boolean }> {
  const state = { port: 0, mails: [] as string[], refuses: false };
  const listener = createServer((socket: Socket) => {
    let received = '';
    let isData = false;
    socket.write('220 test\r\n');
    socket.on('data', (chunk) => {
      received += chunk.toString();
      for (;;) {
        const end = isData ? '\r\n.\r\n' : '\r\n';
        const index = received.indexOf(end);
        if (index < 0) return;
        const part = received.slice(0, index);
        received = received.slice(index + end.length);
        if (isData) state.mails.push(part);
        isData = !isData && part.toUpperCase() === 'DATA';
        const refusal = state.refuses && part.startsWith('mail') ? '550 no\r\n' : '250 ok\r\n';
        if (part.toUpperCase() === 'QUIT') socket.end('221 bye\r\n');
        else socket.write(isData ? '354 go on\r\n' : refusal);
      }
    });
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  onTestFinished(() => void listener.close());
  state.port = (listener.address() as AddressInfo).port;
  return state;
}

testWith('python')('a mail has each matching solicitation once, also if one could not be sent', async () => {
  const mail = await startMailServer();
  const settings = {
    ...{ SMTP_HOST: '127.0.0.1', SMTP_PORT: String(mail.port) },
    ...{ MAIL_FROM: 'us@example.com', MAIL_TO: 'you@example.com' },
  };
  const send = async (): Promise<string[]> => {
    const { code, stderr } = await run('mail', settings);
    expect(code, stderr).toBe(0);
    return mail.mails.splice(0);
  };
  const [first = '', ...others] = await send();
  expect(others).toEqual([]);
  expect(first).toMatch(/^Subject: 3 new solicitations\r$/m);
  expect(first).toMatch(/^To: you@example.com\r$/m);
  expect(await send()).toEqual([]);
  await publish([
    { ...solicitation('sol_new', 9), title: 'A new bridge', lead_entity_id: 'le_b' },
    { ...solicitation('sol_0', 1), title: 'Bridge, changed' },
    { ...solicitation('sol_other', 10), title: 'Another road', description: null },
  ]);
  mail.refuses = true;
  expect((await run('mail', settings)).code).toBe(1);
  mail.refuses = false;
  server.fault = { cutAt: () => 30, end: 'closed' };
  expect((await run('mail', settings)).code).toBe(1);
  server.fault = null;
  const [second = '', ...more] = await send();
  expect(more).toEqual([]);
  expect(second).toContain('A new bridge\r\n  City of B, RFP-9, closes 2030-01-01T00:00:00.000Z');
  expect(second).not.toMatch(/changed|road/);
  expect(await send()).toEqual([]);
});

testWith('python')('a chat gets a message for what the mirror reports, and again if it could not be sent', async () => {
  const messages: string[] = [];
  let status = 200;
  const chat = await startFaultyServer((response, _index, request) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      if (status === 200) messages.push((JSON.parse(body) as { text: string }).text);
      response.writeHead(status).end();
    });
  });
  onTestFinished(() => chat.close());
  const file = join(folder, 'recipe_chat.py');
  const mirror = async (): Promise<number | null> => {
    const words = [
      '--sqlite',
      join(folder, 'copy.sqlite'),
      '--on-change',
      `CHAT_WEBHOOK_URL=${chat.url} python3 ${file} 2> /dev/null`,
    ];
    return (await startMirrorHere(words, environment()).ended).code;
  };
  expect(await mirror()).toBe(0);
  await publish([
    { ...solicitation('sol_3', 4), title: '<!channel> Paving', close_at: '2031-01-01T00:00:00Z' },
    { ...solicitation('sol_2', 3), title: 'Bridge\u2028joint', description: 'Only the description' },
    { ...solicitation('sol_chat', 20), title: 'New' },
    { id: 'sol_1', deleted: true },
  ]);
  status = 500;
  expect(await mirror()).toBe(1);
  status = 200;
  expect(await mirror()).toBe(0);
  expect(messages).toHaveLength(1);
  expect(messages[0]?.split('\n').sort()).toEqual([
    'Added: New (closes 2030-01-01T00:00:00.000Z)',
    'Changed: &lt;!channel&gt; Paving (title: Paving of roads → &lt;!channel&gt; Paving, close_at: 2030-01-01T00:00:00.000Z → 2031-01-01T00:00:00.000Z)',
  ]);
  expect(await mirror()).toBe(0);
  expect(messages).toHaveLength(1);
});

testWith('python')(
  'a calendar has every deadline to come, in lines that calendars read, and stays if a run fails',
  async () => {
    await publish([
      { ...solicitation('sol_past', 30), close_at: '2020-01-01T00:00:00Z' },
      {
        ...solicitation('sol_all', 31),
        title: 'Bridge; deck, north \\ south '.repeat(5).trim(),
        questions_due_at: '2029-01-01T10:30:00Z',
      },
    ]);
    expect((await run('calendar')).code).toBe(0);
    const file = join(folder, 'deadlines.ics');
    const calendar = await readFile(file, 'utf8');
    const lines = calendar.split('\r\n');
    expect(lines.pop()).toBe('');
    for (const line of lines) {
      expect(Buffer.byteLength(line)).toBeLessThanOrEqual(75);
      expect(line).not.toContain('\n');
    }
    const unfolded = calendar.replaceAll('\r\n ', '').split('\r\n');
    const valuesOf = (name: string) =>
      unfolded.filter((line) => line.startsWith(`${name}:`)).map((line) => line.slice(name.length + 1));
    const { key } = service.partner('all');
    const now = new Date().toISOString();
    const listed = await service.get(`/v1/solicitations?status=open&limit=100&closing_after=${now}`, { key });
    const { data } = JSON.parse(listed.body) as {
      data: { id: string; title: string; questions_due_at: string | null }[];
    };
    const expected = data.flatMap(({ id, questions_due_at: due }) => [
      ...(due === null ? [] : [`${id}-questions_due_at`]),
      `${id}-close_at`,
    ]);
    expect(valuesOf('UID')).toEqual(expected);
    expect(valuesOf('DTSTART')).toContain('20290101T103000Z');
    const unescaped = valuesOf('SUMMARY').map((value) => value.replaceAll(/\\([\\;,])/g, '$1'));
    for (const { title } of data) expect(unescaped).toContain(`Closes: ${title}`);
    server.fault = { cutAt: (body) => body.indexOf('\n') + 1, end: 'closed' };
    await publish([{ id: 'sol_all', deleted: true }]);
    expect((await run('calendar')).code).toBe(1);
    expect(await readFile(file, 'utf8')).toBe(calendar);
    server.fault = null;
    expect((await run('calendar')).code).toBe(0);
    expect(await readFile(file, 'utf8')).not.toContain('sol_all');
  },
);
