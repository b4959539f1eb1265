import { isDeepStrictEqual } from 'node:util';
import { expect } from 'vitest';
import { grant, revoke } from '../../src/access/grant-admin.ts';
import { issueKey, revokeKey } from '../../src/access/key-admin.ts';
import { resumePartner, setPartner, suspendPartner } from '../../src/access/partner-admin.ts';
import type { Kind } from '../../src/kinds.ts';
import { Model, type Filters, type Served } from '../model/model.ts';
import type { Get, HttpResponse, ListedRecord } from '../support/client.ts';
import { makePartner, readScope, type TestPartner } from '../support/partners.ts';
import { apply, startingLines } from '../support/records/edited-lines.ts';
import type { ServingProcess } from '../support/service.ts';
import { KINDS } from './copy.ts';
import { FeedCopy, idInCursor } from './feed-copy.ts';
import { readable, type State } from './state.ts';
import { PROCESSES, type Step } from './steps.ts';
import type { World } from './world.ts';

const EPOCH = '1970-01-01T00:00:00.000Z';
const SOME_KINDS: readonly Kind[] = ['contracts', 'suppliers', 'lead-entities'];
/** A sync of one kind, as the guide describes it. */
interface Sync {
  readonly records: Map<string, ListedRecord>;
  since: string;
  cursor: string | null;
  /** That of the first page. */
  watermark: string;
  /** The last id of a sync that has not ended. */
  after: string;
}

interface Page {
  readonly data: ListedRecord[];
  readonly meta: { readonly next_cursor: string | null };
}

/** One partner's history. */
export class History {
  /** The syncs that were read to their end and compared. */
  syncs = 0;
  readonly #world: World;
  readonly #partner: TestPartner;
  readonly #states: State[] = [];
  /** For each process, the newest state that it is certain to know. */
  readonly #noticed = Array.from({ length: PROCESSES }, () => 0);
  /** For each process, the newest state that it has certainly shown. */
  readonly #shown = Array.from({ length: PROCESSES }, () => 0);
  readonly #syncs = new Map<Kind, Sync>();
  /** The last response to each URL, for `If-None-Match`. */
  readonly #received = new Map<string, HttpResponse>();
  #isSuspended = false;
  #kinds: readonly Kind[] | null = null;
  #key: string;
  #revokedKey: string | null = null;
  /** A copy by the feed, and of the listing that it reads: the removals, its start, and the states when it began. */
  readonly #copy: FeedCopy;
  #removed: string[] = [];
  #since: string | null = null;
  #statesAtStart = 0;

  private constructor(world: World, partner: TestPartner) {
    this.#world = world;
    this.#partner = partner;
    this.#key = partner.key;
    this.#copy = new FeedCopy(partner.key);
    for (const kind of KINDS)
      this.#syncs.set(kind, { records: new Map(), since: EPOCH, cursor: null, watermark: '', after: '' });
  }

  /** Publishes the first lines, and makes a new partner. */
  static async begin(world: World): Promise<History> {
    await world.import(() => startingLines());
    const name = `partner-${(world.partners += 1)}`;
    return new History(world, await makePartner(world.service.database, world.clock, { name, leadEntities: ['le_a'] }));
  }

  async run(steps: readonly Step[]): Promise<void> {
    await this.#changed();
    for (const step of steps) await this.#take(step);
    // In the end everything is allowed again, and each sync that has begun ends, in whatever processes.
    if (this.#isSuspended) await this.#take({ type: 'suspend or resume' });
    if (this.#kinds !== null) await this.#take({ type: 'restrict or lift kinds' });
    for (let process = 0; process < PROCESSES; process += 1) await this.#take({ type: 'notice', process });
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
    const readToEnd = async (): Promise<void> => {
      do await this.#take({ type: 'read', process: 0, limit: 2, format: 'json' });
      while (!this.#copy.isAtStart);
    };
    if (!this.#copy.isAtStart) await readToEnd();
    await readToEnd();
    // With nothing new, nothing is listed.
    const { items, meta } = await this.#copy.read(this.#getFrom(0));
    expect([items, meta?.reset]).toEqual([[], false]);
    this.#copy.lose();
    await this.#copy.read(this.#getFrom(0));
    expect(this.#copy.isDifferent).toBe(this.#now.listed.size > 0);
  }

  get #now(): State {
    return this.#states.at(-1) ?? expect.fail('no state');
  }

  #syncOf(kind: Kind): Sync {
    return this.#syncs.get(kind) ?? expect.fail(`no sync of ${kind}`);
  }

  #process(index: number): ServingProcess {
    return this.#world.processes[index] ?? expect.fail(`no process ${index}`);
  }

  #getFrom(index: number): Get {
    return (path, options) => this.#process(index).get(path, { ...options, key: this.#key });
  }

  async #take(step: Step): Promise<unknown> {
    const { service, clock } = this.#world;
    const { database } = service;
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
      case 'replace the key': {
        const { key } = await issueKey(database, clock, name, { environment: 'test', lifetimeMs: null });
        await revokeKey(database, clock, this.#key.split('_')[2] ?? '');
        return ([this.#revokedKey, this.#key] = [this.#key, key]);
      }
      case 'import': {
        const { edits, isWhole } = step;
        await this.#world.import((lines) => edits.reduce(apply, lines), isWhole);
        return this.#changed();
      }
      case 'prune':
        await this.#world.prune();
        return this.#changed();
      case 'recover':
        await this.#world.recover();
        return this.#changed();
      case 'roll back':
        await this.#world.rollBack();
        return this.#changed();
      case 'pause or resume the replica':
        return this.#world.pauseOrResume();
      case 'notice': {
        const process = this.#process(step.process);
        await process.noticeChanges();
        const key = this.#revokedKey;
        if (key !== null) expect((await process.get('/v1/key', { key })).status).toBe(401);
        return (this.#noticed[step.process] = this.#states.length - 1);
      }
      case 'read':
        return this.#read(step);
      case 'page':
        return this.#page(step);
      case 'list': {
        const { kind, filters } = step.of;
        const url = `/v1/${kind}?${new URLSearchParams({ ...filters, format: step.format, limit: '100' }).toString()}`;
        return this.#request(step.process, kind, url, 0, ({ body, headers }, state) => {
          if (headers['x-sync-watermark'] !== state.watermark) return false;
          const lines = (): unknown => JSON.parse(`[${body.split('\n').slice(0, -1).join()}]`);
          const data = step.format === 'json' ? (JSON.parse(body) as Page).data : lines();
          return isDeepStrictEqual(data, this.#list(state, kind, filters));
        }); // prettier-ignore
      }
      case 'count': {
        const { kind, filters } = step.of;
        const url = `/v1/${kind}/count?${new URLSearchParams({ ...filters }).toString()}`;
        return this.#request(step.process, kind, url, 0, ({ body }, { model, scope }) =>
          body === JSON.stringify({ total: model.list(kind, filters, scope, EPOCH).length }),
        ); // prettier-ignore
      }
      case 'record': {
        const ids = [...this.#world.records[step.kind].keys()];
        const id = ids.at(-1 - step.nth) ?? ids[0] ?? 'none';
        return this.#request(step.process, step.kind, `/v1/${step.kind}/${id}`, 0, ({ status, body }, state) => {
          const expected = state.model.detail(step.kind, id, state.scope, EPOCH);
          return expected === null ? status === 404 : status === 200 && isDeepStrictEqual(JSON.parse(body), expected);
        }); // prettier-ignore
      }
    }
  }

  /** Adds the state after a change. */
  async #changed(): Promise<void> {
    const { service, records, resets, prunes } = this.#world;
    const { name } = this.#partner;
    const { at } = await service.database.kysely
      .selectFrom('access.events as event')
      .leftJoin('access.partners as partner', 'partner.id', 'event.partner_id')
      .select((eb) => eb.fn.max('event.at').as('at'))
      .where((eb) =>
        eb.or([eb('event.partner_id', 'is', null), eb.and({ 'event.what': 'scope', 'partner.name': name })]),
      )
      .executeTakeFirstOrThrow();
    const watermark = new Date(Date.parse(at) + 1).toISOString();
    // A rollback to nowhere.
    if (this.#states.at(-1)?.watermark === watermark) return;
    const model = new Model(records, []);
    const scope = await readScope(service.database, name);
    const listed = KINDS.flatMap((kind) =>
      model
        .list(kind, {}, scope, EPOCH)
        .map((one): [string, string] => [`${kind} ${String(one['id'])}`, JSON.stringify(one)]),
    );
    const { isSuspended, kinds } = { isSuspended: this.#isSuspended, kinds: this.#kinds };
    this.#states.push({ model, scope, isSuspended, kinds, watermark, resets, prunes, listed: new Map(listed) });
  }

  #list({ model, scope }: State, kind: Kind, filters: Filters = {}): Served[] {
    return model.list(kind, filters, scope, EPOCH);
  }

  /**
   * Whether a sync of a list must return a visible record, because it changed or became visible, or can, because one of
   * several grants began to show it.
   */
  #isDue(now: State, kind: (typeof KINDS)[number], id: string, since: string): 'must' | 'can' | 'no' {
    const from = this.#states.findLastIndex(({ watermark }) => watermark <= since);
    const known = this.#states.slice(Math.max(0, from), this.#states.indexOf(now) + 1);
    const key = `${kind} ${id}`;
    const isOther = ({ listed, resets }: State): boolean =>
      listed.get(key) !== now.listed.get(key) || resets < now.resets;
    if (from < 0 || known.some(isOther)) return 'must';
    const sighting = now.model.visible(now.scope)[kind].get(id);
    return known.some(({ prunes }) => prunes < now.prunes) || (sighting !== undefined && sighting.last >= since)
      ? 'can'
      : 'no';
  }

  /** Fetches the next page of a sync. */
  async #page({ process, kind, limit }: Step & { type: 'page' }): Promise<void> {
    const sync = this.#syncOf(kind);
    const { since, cursor, after } = sync;
    const isFirst = cursor === null;
    const parameters = new URLSearchParams({ updated_since: since, limit: String(limit), ...(cursor && { cursor }) });
    const proven = isFirst ? 0 : this.#states.findIndex(({ watermark }) => watermark === sync.watermark);
    const url = `/v1/${kind}?${parameters.toString()}`;
    const page = await this.#request(process, kind, url, proven, (response, state) => {
      if (response.headers['x-sync-watermark'] !== (isFirst ? state.watermark : sync.watermark)) return false;
      const { data, meta } = JSON.parse(response.body) as Page;
      const received = new Set(data.map(({ id }) => id));
      const end = meta.next_cursor === null ? null : (data.at(-1)?.id ?? '');
      const expected = this.#list(state, kind).filter((record) => {
        const id = String(record['id']);
        const due = this.#isDue(state, kind, id, since);
        return (
          (isFirst || id > after) &&
          (end === null || id <= end) &&
          (due === 'must' || (due === 'can' && received.has(id)))
        );
      });
      return isDeepStrictEqual(data, expected) && (meta.next_cursor === null || data.length === limit);
    });
    if (page === null) return;
    const { body, headers } = page;
    const { data, meta } = JSON.parse(body) as Page;
    for (const record of data) sync.records.set(record.id, record);
    if (isFirst) sync.watermark = String(headers['x-sync-watermark']);
    sync.cursor = meta.next_cursor;
    sync.after = data.at(-1)?.id ?? '';
    if (meta.next_cursor !== null) return;
    sync.since = sync.watermark;
    this.syncs += 1;
  }

  /** Reads the next page of the feed. */
  async #read({ process: index, limit, format }: Step & { type: 'read' }): Promise<void> {
    const copy = this.#copy;
    if (copy.isAtStart) {
      this.#removed = [];
      this.#since = copy.watermark;
      this.#statesAtStart = this.#states.length;
    }
    const { status, items, meta } = await copy.read(this.#getFrom(index), {
      format,
      ...(limit !== undefined && { limit }),
    });
    if (meta === null) {
      expect([400, 403]).toContain(status);
      return;
    }
    this.#removed.push(...items.filter(({ removed }) => removed === true).map(({ kind, id }) => `${kind} ${id}`));
    // Removals and cursors name only records that the partner has seen since its watermark.
    const from = this.#since;
    const first = this.#states.findLastIndex(({ watermark }) => from !== null && watermark <= from);
    const seen = new Set(this.#states.slice(Math.max(0, first)).flatMap((state) => [...readable(state).keys()]));
    for (const key of this.#removed) expect(seen, `${key} was visible since ${String(from)}`).toContain(key);
    const id = meta.next_cursor === null ? null : idInCursor(meta.next_cursor);
    if (id !== null) expect(Array.from(seen, (key) => key.split(' ')[1])).toContain(id);
    if (meta.next_cursor !== null) return;
    if (meta.reset) expect(this.#removed).toEqual([]);
    this.syncs += 1;
    const { replica } = this.#world;
    // A first listing can be of a replica that is behind, since the client has seen nothing later.
    const isBehind = replica !== null && from === null;
    // Later pages show later changes than the first ones.
    if (!isBehind && this.#states.length > this.#statesAtStart) {
      expect(meta.totals).toBeNull();
      return;
    }
    // Some pages are of the replica, others of the primary.
    if (replica !== null && meta.totals === null) return;
    const state = isBehind ? this.#states.find(({ watermark }) => watermark === meta.watermark) : this.#now;
    const details = readable(state ?? expect.fail('no state has this watermark'));
    expect(Object.fromEntries(copy.records)).toEqual(Object.fromEntries(details));
    const kinds = ['contracts', 'solicitations', 'suppliers'].filter((kind) =>
      (state?.kinds ?? KINDS).includes(kind as Kind),
    );
    const numberOf = (kind: string): number => [...details.keys()].filter((key) => key.startsWith(`${kind} `)).length;
    expect(meta.totals).toEqual(Object.fromEntries(kinds.map((kind) => [kind, numberOf(kind)])));
  }

  /**
   * Sends a request, and checks that its response is that of one state: the present one, or, if it came from the cache or
   * a replica, one that is no older than the process and the cursor prove.
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
    let response = await process.get(url, { key: this.#key, headers });
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
    const oldest = Math.max(proven, this.#noticed[index] ?? 0);
    // From a replica, a process shows no older state than it has shown before.
    const ofReplica = this.#states.slice(Math.max(oldest, this.#shown[index] ?? 0));
    const computed = this.#world.replica === null ? [this.#now] : ofReplica;
    const states = isCached ? this.#states.slice(oldest) : computed;
    const mayRead = ({ isSuspended, kinds }: State): boolean => !isSuspended && kinds?.includes(kind) !== false;
    const isRight = (state: State): boolean => mayRead(state) && isOf(response, state);
    const shown = states.find(isRight);
    const what = `${isCached ? 'cached' : 'computed'}: ${url}: ${response.status} ${response.body}`;
    if (shown === undefined) return expect.fail(what);
    this.#shown[index] = Math.max(this.#shown[index] ?? 0, this.#states.indexOf(shown));
    if (!isCached && !isRight(this.#now)) this.#world.behind += 1;
    return response;
  }
}
