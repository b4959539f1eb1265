import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { grant, revoke, type Grants } from '../../../../src/access/grant-admin.ts';
import { setPartner } from '../../../../src/access/partner-admin.ts';
import type { OpenDatabase } from '../../../../src/database/database.ts';
import { readLastEvent } from '../../../../src/database/event-log.ts';
import type { Kind } from '../../../../src/kinds.ts';
import { OperatorError } from '../../../../src/operator-error.ts';
import { ImportRefusedError } from '../../../../src/publishing/problems.ts';
import { scrape } from '../../../../test/support/process/administrator.ts';
import { createClient, dataOf, listAllPages, type Client } from '../../../../test/support/client.ts';
import { createTestDatabase } from '../../../../test/support/database.ts';
import { forEachTest } from '../../../../test/support/lifetimes.ts';
import { makePartner, type PartnerSetup } from '../../../../test/support/partners.ts';
import { publishLines, type ImportLines } from '../../../../test/support/publishing.ts';
import { startService } from '../../../../test/support/service.ts';
import { startServing, type Serving } from '../../../../test/support/serving-process.ts';
import { InterceptingProxy, type Intercept, type Passed } from '../../support/intercepting-proxy.ts';
import { idIn, LISTS, readCopy, type Json, type Records, type StoreType } from './copies.ts';
import { firstCatalog } from './histories.ts';
import { startMirrorHere, type MirrorHere } from './mirror-here.ts';
import { startMirror, type MirrorEnd, type MirrorProcess } from './mirror-process.ts';

/** Interval for polling the metrics; a tight loop would keep a core busy. */
const NOTICED_EVERY_MS = 20;

/** The service that a mirror copies, with its database. */
interface Host {
  readonly database: OpenDatabase;
  readonly key: string;
  readonly port: number;
  /** Resolves when the service serves all changes made so far. */
  settle(): Promise<void>;
  close(): Promise<void>;
}

/** A host that can be killed and restarted. */
interface KillableHost extends Host {
  kill(): Promise<void>;
  serve(): Promise<void>;
}

/** Changes in a piece that passes the proxy, so that a few records are many pieces. */
const PIECE = 3;

/** The service with its own database and one partner, behind a proxy. */
export class MirroredService {
  readonly partner: string;
  readonly proxy: InterceptingProxy;
  readonly folder = mkdtempSync(join(tmpdir(), 'pds-mirror-'));
  readonly #host: Host | KillableHost;
  #client: Client;

  private constructor(host: Host | KillableHost, proxy: InterceptingProxy, partner: string) {
    this.#host = host;
    this.proxy = proxy;
    this.intercept(null);
    this.partner = partner;
    this.#client = this.#connect();
  }

  /** @param isKillable runs `pds serve` in a separate process, which costs a second of CPU time. */
  static async start(
    catalog: ImportLines,
    setup: PartnerSetup,
    { isKillable = false }: { isKillable?: boolean } = {},
  ): Promise<MirroredService> {
    const host = await (isKillable ? startProcess : startInThisProcess)(catalog, setup);
    return new MirroredService(host, await InterceptingProxy.start(), setup.name);
  }

  get database(): OpenDatabase {
    return this.#host.database;
  }

  get key(): string {
    return this.#host.key;
  }

  /** The environment of a mirror of this service. */
  get environment(): { PARTNER_DATA_URL: string; PARTNER_DATA_KEY: string } {
    return { PARTNER_DATA_URL: this.proxy.url, PARTNER_DATA_KEY: this.key };
  }

  /** Sets what happens to the mirror's requests from here on. */
  intercept(intercept: Intercept | null): void {
    this.proxy.intercept(async (request, index) => ({
      target: request.target.replace(/\blimit=10000\b/, `limit=${PIECE}`),
      ...(await intercept?.(request, index)),
    }));
  }

  /** The targets of the requests that have passed. */
  get targets(): string[] {
    return this.proxy.passed.map(({ target }: Passed) => target);
  }

  /** Restarts the service after it was killed. */
  async serve(): Promise<void> {
    await this.#killable().serve();
    this.#client = this.#connect();
  }

  /** Kills the service with SIGKILL. */
  async killService(): Promise<void> {
    this.#client.close();
    await this.#killable().kill();
  }

  /** Runs a mirror of this service with the partner's key, in this process. */
  mirror(...args: string[]): Promise<MirrorEnd> {
    return this.startMirrorHere(args).ended;
  }

  startMirrorHere(args: readonly string[], settings?: Parameters<typeof startMirrorHere>[2]): MirrorHere {
    return startMirrorHere(args, this.environment, settings);
  }

  /** Starts a mirror in a process of its own. */
  startMirror(...args: string[]): MirrorProcess {
    return startMirror(args, this.environment);
  }

  /** Waits for a mirror, which must succeed and leave a copy of what the service shows. */
  async copied(type: StoreType, running: Promise<MirrorEnd>): Promise<MirrorEnd> {
    const end = await running;
    expect(end.code, end.stderr).toBe(0);
    expect(readCopy(type, this.folder)).toEqual(await this.served());
    return end;
  }

  /** Runs a mirror, which must fail with this message. */
  async refused(args: readonly string[], message: string | RegExp): Promise<MirrorEnd> {
    const end = await this.mirror(...args);
    expect(end.stderr).toMatch(message);
    expect(end.code).toBe(1);
    return end;
  }

  /** Runs a mirror that is killed before a request reaches the service; returns the targets of its requests. */
  async killAt(index: number, args: readonly string[]): Promise<string[]> {
    const killed = this.startMirror(...args);
    this.intercept((_request, requestIndex) => {
      if (requestIndex === index) killed.kill('SIGKILL');
      return {};
    });
    expect((await killed.ended).code).toBeNull();
    return this.targets;
  }

  /** Publishes, and waits until the service shows it. */
  async publish(lines: ImportLines): Promise<void> {
    await publishLines(this.database, lines);
    await this.settle();
  }

  /** Returns whether the import was accepted. For example, removing a record that others reference is refused. */
  async tryToPublish(lines: ImportLines): Promise<boolean> {
    try {
      await publishLines(this.database, lines);
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
      // Revoking a grant that does not exist, or granting a missing record, is refused.
      if (!(error instanceof OperatorError)) throw error;
    }
  }

  /** Changes the kinds that the partner can read, and waits until the service has noticed. */
  async setKinds(kinds: readonly Kind[] | null): Promise<void> {
    await setPartner(this.database, Date.now, this.partner, { kinds });
    await this.settle();
  }

  /** Resolves when the service has noticed all changes made so far. Until then its cached responses are stale. */
  settle(): Promise<void> {
    return this.#host.settle();
  }

  /** Fetches everything that the partner sees, without the client: of suppliers and solicitations, their details. */
  async served(): Promise<Records> {
    const records = new Map<string, Map<string, Json>>();
    for (const list of LISTS) {
      const listed = await this.#listAll(`/v1/${list}`);
      records.set(list, new Map(listed.map((record) => [idIn(list, record), record])));
    }
    for (const list of ['suppliers', 'solicitations'])
      for (const id of records.get(list)?.keys() ?? [])
        records.get(list)?.set(id, JSON.parse(await this.#get(`/v1/${list}/${id}`)) as Json);
    records.set('details', records.get('solicitations') ?? new Map<string, Json>());
    return Object.fromEntries(records) as unknown as Records;
  }

  async close(): Promise<void> {
    this.#client.close();
    await this.proxy.close();
    await this.#host.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  async status(path: string): Promise<number> {
    return (await this.#client.get(path, { key: this.key })).status;
  }

  #connect(): Client {
    this.proxy.servicePort = this.#host.port;
    return createClient(`http://127.0.0.1:${this.#host.port}`);
  }

  #killable(): KillableHost {
    if ('kill' in this.#host) return this.#host;
    throw new Error('only a service in a process of its own can be killed: start it with isKillable');
  }

  async #get(path: string): Promise<string> {
    const { status, body } = await this.#client.get(path, { key: this.key });
    if (status !== 200) throw new Error(`${path}: ${status} ${body}`);
    return body;
  }

  async #listAll(path: string): Promise<Json[]> {
    const pages = await listAllPages(this.#client.get, path, this.key, [100]);
    for (const { body, status } of pages) if (status !== 200) throw new Error(`${path}: ${status} ${body}`);
    return dataOf(...pages);
  }
}

/** The service with the first catalog and a partner that sees everything, for each test. */
export const mirroredServiceForEachTest = (): MirroredService =>
  forEachTest(() => MirroredService.start(firstCatalog(), { name: 'acme', everything: true }));

async function startInThisProcess(catalog: ImportLines, setup: PartnerSetup): Promise<Host> {
  const service = await startService({ catalog, partners: [setup], clock: Date.now });
  return {
    database: service.database,
    key: service.partner(setup.name).key,
    port: Number(new URL(service.url).port),
    settle: () => service.noticeChanges(),
    close: () => service.close(),
  };
}

async function startProcess(catalog: ImportLines, setup: PartnerSetup): Promise<KillableHost> {
  const made = await createTestDatabase();
  const { database, config } = made;
  await publishLines(database, catalog);
  const { key } = await makePartner(database, Date.now, setup);
  let serving: Serving;
  let adminPort: number;
  const host = {
    database,
    key,
    port: 0,
    async serve(): Promise<void> {
      serving = startServing(config, { PDS_LOG_LEVEL: 'info' });
      host.port = await serving.port();
      adminPort = await serving.adminPort();
    },
    kill: (): Promise<void> => serving.close(),
    async settle(): Promise<void> {
      const last = Date.parse(await readLastEvent(database)) / 1000;
      const noticed = async (): Promise<number> =>
        (await scrape(adminPort)).get('pds_last_event_timestamp_seconds') ?? 0;
      while ((await noticed()) < last) await delay(NOTICED_EVERY_MS);
    },
    async close(): Promise<void> {
      await host.kill();
      await made.drop();
    },
  };
  await host.serve();
  return host;
}
