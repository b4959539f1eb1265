import { expect, test } from 'vitest';
import { grant, revoke } from '../../src/access/grant-admin.ts';
import { hooked } from '../support/hooked.ts';
import { contract, SMALL_CATALOG } from '../support/publishing.ts';
import { serviceForAllTests } from '../support/service.ts';

/** As many records as cost two requests. */
const CONTRACTS = 2_001;

const clock = Date.now;
const idsOfA = Array.from({ length: CONTRACTS }, (_, index) => `ctr_${String(index).padStart(4, '0')}`);
const CATALOG = {
  ...SMALL_CATALOG,
  contracts: [...idsOfA.map((id) => contract(id)), { ...contract('other'), lead_entity_id: 'le_b', coop_id: null }],
  solicitations: [],
};

/** How many statements a request has run, how many of them read a piece, and what to do before one. */
let statements = 0;
let pieces = 0;
let beforeStatement: (number: number) => Promise<unknown> | undefined = () => undefined;

const service = serviceForAllTests({
  catalog: CATALOG,
  clock,
  partners: [{ name: 'a', leadEntities: ['le_a'] }],
  isPolling: false,
  watch: (database) =>
    hooked(database, {
      before: () => beforeStatement((statements += 1)),
      after: (_, isOfTexts) => (pieces += Number(isOfTexts)),
    }),
});

const GRANTS = { everything: false, leadEntities: ['le_b'], coops: [] };

const lines = (body: string): string[] => body.trimEnd().split('\n');
const countLines = (body: string): number => lines(body).length;
const idsIn = (body: string): string[] => lines(body).map((line) => (JSON.parse(line) as { id: string }).id);
const leftIn = ({ headers }: Response): number => Number(/r=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1]);

/** A request, and what it returns and costs before the grant ends, and after. */
type Case = [path: string, read: (body: string) => unknown, before: [unknown, number], after: [unknown, number]];

test.each<Case>([
  ['/v1/contracts?format=ndjson', idsIn, [[...idsOfA, 'other'], 2], [idsOfA, 2]],
  ['/v1/contracts?format=csv', countLines, [2_003, 2], [2_002, 2]],
  ['/v1/contracts?format=ndjson&limit=3', idsIn, [idsOfA.slice(0, 3), 1], [idsOfA.slice(0, 3), 1]],
  ['/v1/changes?format=ndjson&kinds=contracts', countLines, [2_003, 2], [2_002, 2]],
  // Nothing, or the complete listing of a partner that has lost sight of a contract.
  ['/v1/changes?format=ndjson&kinds=contracts&updated_since=WATERMARK', countLines, [1, 1], [2_002, 2]],
])(
  'whenever a grant ends before the first byte of a stream, it is whole, and charged once: %s',
  async (path, read, ...outcomes) => {
    // Uncompressed, since a compressor would hold back the first bytes.
    const headers = { authorization: `Bearer ${service.partner('a').key}`, 'accept-encoding': 'identity' };
    for (let attempt = 1, hasBegun = false; !hasBegun; attempt += 1) {
      await grant(service.database, clock, 'a', GRANTS);
      await service.noticeChanges();
      const before = await fetch(`${service.url}/v1/coops`, { headers });
      const since = before.headers.get('x-sync-watermark') ?? '';
      statements = 0;
      pieces = 0;
      let isRead = false;
      beforeStatement = (number) => {
        if (number !== attempt) return undefined;
        isRead = pieces > 0;
        return revoke(service.database, clock, 'a', GRANTS);
      };
      const response = await fetch(service.url + path.replace('WATERMARK', since), { headers }).catch(() => null);
      const body = (await response?.text().catch(() => null)) ?? null;
      beforeStatement = () => undefined;
      if (statements < attempt) await revoke(service.database, clock, 'a', GRANTS);
      hasBegun = body === null || statements < attempt;
      // A later piece is cut, by a reset, which can overtake the head.
      if (response === null || body === null) expect(isRead, `statement ${attempt}`).toBe(true);
      else {
        expect(response.status, `statement ${attempt}: ${body}`).toBe(200);
        expect(outcomes, `statement ${attempt}`).toContainEqual([read(body), leftIn(before) - leftIn(response)]);
      }
    }
  },
  60_000,
);
