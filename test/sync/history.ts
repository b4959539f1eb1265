import { isDeepStrictEqual } from 'node:util';
import { expect } from 'vitest';
import { grant, revoke } from '../../src/access/grant-admin.ts';
import { resumePartner, setPartner, suspendPartner } from '../../src/access/partner-admin.ts';
import type { Kind } from '../../src/kinds.ts';
import { Model, type ModelScope, type Served } from '../model/model.ts';
import type { HttpResponse, ListedRecord } from '../support/client.ts';
import { readScope, type TestPartner } from '../support/partners.ts';
import type { ServingProcess } from '../support/service.ts';
import { KINDS } from './copy.ts';
import { PROCESSES, type Step } from './histories.ts';
import { clock, type World } from './world.ts';

const EPOCH = '1970-01-01T00:00:00.000Z';
const SOME_KINDS: readonly Kind[] = ['contracts', 'lead-entities'];
/** Everything that decides about responses, after each change. */
interface State {
  readonly model: Model;
  readonly scope: ModelScope;
  readonly isSuspended: boolean;
  readonly kinds: readonly Kind[] | null;
  /** One millisecond after the last release or change of the scope. */
  readonly watermark: string;
}

/** A sync of one kind, as the guide describes it. */
interface Sync {
  readonly records: Map<string, ListedRecord>;
  since: string;
  cursor: string | null;
  /** That of the first page. */
  watermark: string;
}

interface Page {
  readonly data: ListedRecord[];
  readonly meta: { readonly next_cursor: string | null };
}

/** One partner's history. */
export class History {
  readonly #world: World;
  readonly #partner: TestPartner;
  readonly #states: State[] = [];
  /** For each process, the newest state that it is certain to know. */
  readonly #noticed = Array.from({ length: PROCESSES }, () => 0);
  readonly #syncs = new Map<Kind, Sync>();
  /** The last response to each URL, for `If-None-Match`. */
  readonly #received = new Map<string, HttpResponse>();
  #isSuspended = false;
  #kinds: readonly Kind[] | null = null;

  constructor(world: World, partner: TestPartner) {
    this.#world = world;
    this.#partner = partner;
    for (const kind of KINDS) {
      this.#syncs.set(kind, { records: new Map(), since: EPOCH, cursor: null, watermark: '' });
    }
  }

  async run(steps: readonly Step[]): Promise<void> {
    await this.#changed();
    for (const step of steps) await this.#take(step);
    // In the end everything is allowed again, and each sync that has begun ends, in whatever processes.
    if (this.#isSuspended) await this.#take({ type: 'suspend or resume' });
    if (this.#kinds !== null) await this.#take({ type: 'restrict or lift kinds' });
    for (const process of this.#world.processes.keys()) await this.#take({ type: 'notice', process });
    for (const kind of KINDS) {
      const sync = this.#syncOf(kind);
      for (let pages = 0; pages === 0 || sync.cursor !== null; pages += 1) {
        await this.#take({ type: 'page', process: pages % PROCESSES, kind, limit: 2 });
      }
      if (sync.since !== this.#now.watermark) await this.#take({ type: 'page', process: 0, kind, limit: 100 });
      for (const record of this.#list(this.#now, kind)) {
        expect(sync.records.get(String(record['id'])), `${kind} ${String(record['id'])}`).toEqual(record);
      }
    }
  }

  get #now(): State {
    return this.#states.at(-1) ?? expect.fail('no state');
  }

  #syncOf(kind: Kind): Sync {
    return this.#syncs.get(kind) ?? expect.fail(`no sync of ${kind}`);
  }

  async #take(step: Step): Promise<unknown> {
    const { database } = this.#world.service;
    const { name } = this.#partner;
    switch (step.type) {
      case 'grant or revoke': {
        const { scope } = this.#now;
        // All of one sort, decided by the first: a revocation must name grants only.
        const isGranted = step.leadEntities.some((id) => id in scope.leadEntities);
        const isStep = (id: string, granted: object): boolean => isGranted === id in granted;
        const grants = {
          everything: false,
          leadEntities: step.leadEntities.filter((id) => isStep(id, scope.leadEntities)),
          coops: step.coops.filter((id) => isStep(id, scope.coops)),
        };
        await (isGranted ? revoke : grant)(database, clock, name, grants);
        return this.#changed();
      }
      case 'grant or revoke everything': {
        const everything = { everything: true, leadEntities: [], coops: [] };
        await (this.#now.scope.everythingSince === null ? grant : revoke)(database, clock, name, everything);
        return this.#changed();
      }
      case 'restrict or lift kinds':
        this.#kinds = this.#kinds === null ? SOME_KINDS : null;
        await setPartner(database, clock, name, { kinds: this.#kinds });
        return this.#changed();
      case 'suspend or resume':
        this.#isSuspended = !this.#isSuspended;
        await (this.#isSuspended ? suspendPartner : resumePartner)(database, clock, name);
        return this.#changed();
      case 'import':
        await this.#world.import(step);
        return this.#changed();
      case 'notice':
        await this.#process(step.process).noticeChanges();
        return (this.#noticed[step.process] = this.#states.length - 1);
      case 'page':
        return this.#page(step);
      case 'list':
        return this.#request(step.process, step.kind, `/v1/${step.kind}?limit=100`, 0, ({ body, headers }, state) => {
          const isWatermark = headers['x-sync-watermark'] === state.watermark;
          return isWatermark && isDeepStrictEqual((JSON.parse(body) as Page).data, this.#list(state, step.kind));
        }); // prettier-ignore
      case 'count':
        return this.#request(step.process, 'solicitations', '/v1/solicitations/count', 0, ({ body }, state) =>
          body === JSON.stringify({ total: state.model.count({}, state.scope, '') }),
        ); // prettier-ignore
      case 'record': {
        const ids = [...this.#world.records[step.kind].keys()];
        const id = ids.at(-1 - step.nth) ?? ids[0] ?? expect.fail();
        return this.#request(step.process, step.kind, `/v1/${step.kind}/${id}`, 0, ({ status, body }, state) => {
          const expected = state.model.detail(step.kind, id, state.scope, EPOCH);
          return expected === null ? status === 404 : status === 200 && isDeepStrictEqual(JSON.parse(body), expected);
        }); // prettier-ignore
      }
    }
  }

  /** Adds the state after a change. */
  async #changed(): Promise<void> {
    const { service, records, releases, events } = this.#world;
    const { at: scopeChangedAt } = await service.database.kysely
      .selectFrom('access.events as event')
      .innerJoin('access.partners as partner', 'partner.id', 'event.partner_id')
      .select((eb) => eb.fn.max('event.at').as('at'))
      .where('event.what', '=', 'scope')
      .where('partner.name', '=', this.#partner.name)
      .executeTakeFirstOrThrow();
    events.push(scopeChangedAt);
    const last = Date.parse([scopeChangedAt, ...releases].sort().at(-1) ?? '');
    this.#states.push({
      model: new Model(records, events),
      scope: await readScope(service.database, this.#partner.name),
      isSuspended: this.#isSuspended,
      kinds: this.#kinds,
      watermark: new Date(last + 1).toISOString(),
    });
  }

  #process(index: number): ServingProcess {
    return this.#world.processes[index] ?? expect.fail(`no process ${index}`);
  }

  #list(state: State, kind: Kind, since?: string, bound: 'min' | 'max' = 'max'): Served[] {
    return state.model.list(kind, since === undefined ? {} : { updated_since: since }, state.scope, EPOCH, bound);
  }

  /** Fetches the next page of a sync. */
  async #page({ process, kind, limit }: Step & { type: 'page' }): Promise<void> {
    const sync = this.#syncOf(kind);
    const { since, cursor } = sync;
    const isFirst = cursor === null;
    const parameters = new URLSearchParams({ updated_since: since, limit: String(limit), ...(cursor && { cursor }) });
    const proven = isFirst ? 0 : this.#states.findIndex(({ watermark }) => watermark === sync.watermark);
    const after = this.#after.get(sync) ?? '';
    const page = await this.#request(
      process,
      kind,
      `/v1/${kind}?${parameters.toString()}`,
      proven,
      (response, state) => {
        if (response.headers['x-sync-watermark'] !== (isFirst ? state.watermark : sync.watermark)) return false;
        const { data, meta } = JSON.parse(response.body) as Page;
        const received = new Set(data.map(({ id }) => id));
        const required = new Set(this.#list(state, kind, since, 'min').map(({ id }) => id));
        const end = meta.next_cursor === null ? null : (data.at(-1)?.id ?? '');
        const expected = this.#list(state, kind, since).filter((record) => {
          const id = String(record['id']);
          return (isFirst || id > after) && (end === null || id <= end) && (received.has(id) || required.has(id));
        });
        return isDeepStrictEqual(data, expected) && (meta.next_cursor === null || data.length === limit);
      },
    );
    if (page === null) return;
    const { body, headers } = page;
    const { data, meta } = JSON.parse(body) as Page;
    for (const record of data) sync.records.set(record.id, record);
    if (isFirst) sync.watermark = String(headers['x-sync-watermark']);
    if (meta.next_cursor === null) sync.since = sync.watermark;
    sync.cursor = meta.next_cursor;
    this.#after.set(sync, data.at(-1)?.id ?? '');
  }

  /** The last id of each sync that has not ended. */
  readonly #after = new Map<Sync, string>();

  /**
   * Sends a request, and checks that its response is that of one state: the present one, or, if it came from the cache,
   * one that is no older than the process and the cursor prove.
   *
   * @param proven the index of the state that the cursor proves.
   * @returns null if it was refused.
   */
  async #request(
    index: number,
    kind: Kind,
    url: string,
    proven: number,
    isOf: (response: HttpResponse, state: State) => boolean,
  ): Promise<HttpResponse | null> {
    const process = this.#process(index);
    const hits = process.cacheHits();
    const former = this.#received.get(url);
    const headers = former === undefined ? {} : { 'If-None-Match': String(former.headers.etag) };
    let response = await process.get(url, { key: this.#partner.key, headers });
    const known = this.#states.slice(this.#noticed[index]);
    if (response.status === 403) {
      const mayRefuse = ({ isSuspended, kinds }: State): boolean => isSuspended || kinds?.includes(kind) === false;
      expect(known.some(mayRefuse), `${url} was refused`).toBe(true);
      return null;
    }
    if (response.status === 304 && former !== undefined) {
      response = { ...former, headers: { ...former.headers, ...response.headers } };
    } else if (response.status === 200) this.#received.set(url, response);
    const isCached = process.cacheHits() > hits;
    const states = isCached ? this.#states.slice(Math.max(proven, this.#noticed[index] ?? 0)) : [this.#now];
    const mayRead = ({ isSuspended, kinds }: State): boolean => !isSuspended && kinds?.includes(kind) !== false;
    const isRight = states.some((state) => mayRead(state) && isOf(response, state));
    expect(isRight, `${isCached ? 'cached' : 'computed'}: ${url}: ${response.status} ${response.body}`).toBe(true);
    return response;
  }
}
