import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AccessError } from '../../../../src/access/access-error.ts';
import { grant, revoke, type Grants } from '../../../../src/access/grant-admin.ts';
import { ImportRefusedError } from '../../../../src/publishing/problems.ts';
import { scrape } from '../../../../test/support/administrator.ts';
import { createClient, walkList, type Client } from '../../../../test/support/client.ts';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/database.ts';
import { makePartner, type PartnerSetup } from '../../../../test/support/partners.ts';
import { publishLines, type ImportLines } from '../../../../test/support/publishing.ts';
import { startServing, type Serving } from '../../../../test/support/serving-process.ts';
import { idIn, LISTS, type Json, type Records } from './copies.ts';
import { startMirror, type MirrorProcess } from './mirror-process.ts';
import { SmallPages } from './small-pages.ts';

/** `pds serve` on a database of its own, behind small pages, and one partner. */
export class MirroredService {
  readonly partner: string;
  readonly key: string;
  readonly pages: SmallPages;
  readonly folder = mkdtempSync(join(tmpdir(), 'pds-mirror-'));
  readonly #made: TestDatabase;
  #serving: Serving | null = null;
  #client: Client | null = null;
  #adminPort = 0;

  private constructor(made: TestDatabase, pages: SmallPages, partner: string, key: string) {
    this.#made = made;
    this.pages = pages;
    this.partner = partner;
    this.key = key;
  }

  static async start(
    catalog: ImportLines,
    setup: PartnerSetup,
    { pageSize = 3 }: { pageSize?: number } = {},
  ): Promise<MirroredService> {
    const made = await createTestDatabase();
    await publishLines(made.database, catalog);
    const { key, name } = await makePartner(made.database, Date.now, setup);
    const service = new MirroredService(made, await SmallPages.start(pageSize), name, key);
    await service.serve();
    return service;
  }

  get database(): TestDatabase['database'] {
    return this.#made.database;
  }

  /** Starts the service, again where it was killed. */
  async serve(): Promise<void> {
    this.#client?.close();
    this.#serving = startServing(this.#made.config, { PDS_LOG_LEVEL: 'info' });
    this.pages.servicePort = await this.#serving.port();
    this.#client = createClient(`http://127.0.0.1:${this.pages.servicePort}`);
    this.#adminPort = await this.#serving.adminPort();
  }

  /** Kills it in the middle of whatever it does. */
  async killService(): Promise<void> {
    this.#serving?.kill('SIGKILL');
    await this.#serving?.exited;
  }

  /** Starts a mirror that asks this service as its partner. */
  startMirror(...words: string[]): MirrorProcess {
    return startMirror(words, { PARTNER_DATA_URL: this.pages.url, PARTNER_DATA_KEY: this.key });
  }

  async publish(lines: ImportLines): Promise<void> {
    await publishLines(this.database, lines);
  }

  /** Whether it was taken: what is refused, as the removal of what others refer to, does not happen. */
  async tryToPublish(lines: ImportLines): Promise<boolean> {
    try {
      await this.publish(lines);
      return true;
    } catch (error) {
      if (error instanceof ImportRefusedError) return false;
      throw error;
    }
  }

  async change(what: 'grant' | 'revoke', grants: Grants): Promise<void> {
    try {
      await (what === 'grant' ? grant : revoke)(this.database, Date.now, this.partner, grants);
    } catch (error) {
      // What was not granted cannot be revoked, nor what is not there be granted.
      if (!(error instanceof AccessError)) throw error;
    }
  }

  /** Until the running service has noticed all that was done: within a second, and answers that it keeps are older until then. */
  async settle(): Promise<void> {
    const { version } = await this.database.kysely
      .selectFrom('access.clock')
      .select('version')
      .executeTakeFirstOrThrow();
    const noticed = async (): Promise<number> => (await scrape(this.#adminPort)).get('pds_access_version') ?? 0;
    while ((await noticed()) < version) continue;
  }

  /** All that the partner sees, read without the client. */
  async served(): Promise<Records> {
    const records: [string, Map<string, Json>][] = [];
    for (const list of LISTS) {
      const walked = await this.#walk(`/v1/${list}`);
      records.push([list, new Map(walked.map((record) => [idIn(list, record), record]))]);
    }
    const details = new Map<string, Json>();
    for (const id of new Map(records).get('solicitations')?.keys() ?? []) {
      const answer = await this.#ask(`/v1/solicitations/${id}`);
      details.set(id, JSON.parse(answer) as Json);
    }
    return Object.fromEntries([...records, ['details', details]]) as unknown as Records;
  }

  async close(): Promise<void> {
    this.#client?.close();
    await this.killService();
    await this.pages.close();
    await this.#made.drop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  async status(path: string): Promise<number | undefined> {
    return (await this.#client?.get(path, { key: this.key }))?.status;
  }

  async #ask(path: string): Promise<string> {
    const answer = await this.#client?.get(path, { key: this.key });
    if (answer?.status !== 200) throw new Error(`${path}: ${answer?.status ?? 'no'} ${answer?.body ?? 'service'}`);
    return answer.body;
  }

  async #walk(path: string): Promise<Json[]> {
    if (this.#client === null) throw new Error('the service was not started');
    const pages = await walkList(this.#client.get, path, this.key, [100]);
    return pages.flatMap(({ body, status }) => {
      if (status !== 200) throw new Error(`${path}: ${status} ${body}`);
      return (JSON.parse(body) as { data: Json[] }).data;
    });
  }
}
