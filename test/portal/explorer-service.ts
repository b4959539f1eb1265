import { fileURLToPath } from 'node:url';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { INVENTED_LEAD_ENTITIES } from '../../sample/invented-subjects.ts';
import { inventedSolicitations } from '../../sample/invented.ts';
import { launchBrowser, recordPage, type PageRecord } from '../support/browser/browser.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { contract, solicitation, supplier, withImportDirectory } from '../support/publishing.ts';
import { startService, type TestService } from '../support/service.ts';

const SAMPLE = fileURLToPath(new URL('../../sample', import.meta.url));

/** Text that a page would run, load or display differently if it treated it as markup. */
export const HOSTILE = `<img src=x onerror="document.title='run'"><script>alert(1)</script>"'&amp;`;

const HOSTILE_RECORDS = {
  'lead-entities': [
    ...INVENTED_LEAD_ENTITIES,
    { id: 'le_hostile', name: HOSTILE },
    // Its id is among those counted first.
    { id: 'le_a_long_name', name: 'Unbroken'.repeat(25) },
  ],
  coops: [{ id: 'co_hostile', name: HOSTILE }],
  'city-services': [{ id: 'cs_hostile', name: HOSTILE }],
  certifications: [{ abbreviation: '<b>H', name: HOSTILE, type: 'technical' }],
  suppliers: [
    {
      ...supplier('sup_hostile'),
      name: HOSTILE,
      certifications: ['<b>H'],
      city_service_ids: ['cs_hostile'],
      location: HOSTILE,
      logo: 'data:text/html,<script>alert(1)</script>',
      email: HOSTILE,
      website: 'javascript:alert(1)',
    },
  ],
  contracts: [
    {
      ...contract('ctr_hostile'),
      name: HOSTILE,
      summary: HOSTILE,
      description: HOSTILE,
      lead_entity_id: 'le_hostile',
      coop_id: 'co_hostile',
      supplier_ids: ['sup_hostile'],
      city_service_ids: ['cs_hostile'],
    },
  ],
};

/** A solicitation with the hostile text in every text field. */
const HOSTILE_SOLICITATION = {
  ...solicitation('sol_hostile', 1_000_001),
  reference_number: HOSTILE,
  title: HOSTILE,
  issuing_organization: HOSTILE,
  close_at: null,
  lead_entity_id: 'le_hostile',
  description: HOSTILE,
  nigp_codes: [{ code: '913', description: HOSTILE }],
  documents: [{ id: 1, name: HOSTILE, description: HOSTILE, file_type: HOSTILE, file_size: 5 }],
  requested_items: [
    { id: 2, name: HOSTILE, required: true, file_type: HOSTILE, allows_multiple: false, instructions: HOSTILE },
  ],
  notices: [{ id: 3, title: HOSTILE, body: HOSTILE, created_at: '2026-01-01T00:00:00Z' }],
  questions: [{ id: 4, title: HOSTILE, body: HOSTILE, answer: HOSTILE, created_at: '2026-01-01T00:00:00Z' }],
};

/**
 * A service with the sample's real records, invented ones with deadlines around now, and hostile ones; and partners.
 */
function startExplorable(): Promise<TestService> {
  const now = Date.now();
  const files = { ...HOSTILE_RECORDS, solicitations: [...inventedSolicitations(now), HOSTILE_SOLICITATION] };
  return withImportDirectory(files, (directory) =>
    startService({
      clock: Date.now,
      directories: [SAMPLE, directory],
      partners: [
        { name: 'all', everything: true },
        { name: 'contracts-only', everything: true, kinds: ['contracts'] },
        { name: 'suppliers-only', everything: true, kinds: ['suppliers'] },
        { name: 'solicitations-only', everything: true, kinds: ['solicitations'] },
        {
          name: 'reference-lists',
          everything: true,
          kinds: ['certifications', 'lead-entities', 'coops', 'city-services'],
        },
        { name: 'no-kinds', everything: true, kinds: [] },
        { name: 'without-grants' },
        { name: 'revoked', everything: true },
        { name: 'few-requests', everything: true, requestsPerMinute: 3 },
      ],
    }),
  );
}

/** An explorer in its own tab. */
export interface Explorer {
  readonly page: Page;
  readonly record: PageRecord;
  /** Opens a view by its URL fragment, and waits until it is rendered. */
  open(address: string): Promise<void>;
  /** Waits until the last request's result is shown. */
  settled(): Promise<void>;
}

/** A script for the page: resolves once the page has received `hashchange`, and so has begun to load the new view. */
function setAddress(address: string): string {
  return `new Promise((resolve) => {
    const address = ${JSON.stringify(address)};
    if (location.hash === address) return resolve();
    addEventListener('hashchange', resolve, { once: true });
    location.hash = address;
  }).then(() => undefined)`;
}

/** Enters a key in the page, as a user does. */
export async function giveKey({ page }: Explorer, key: string): Promise<void> {
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Explore' }).click();
}

/** A service and a browser to explore it, for all tests of a file. Vitest starts neither if it skips all of them. */
export function exploreForAllTests() {
  const service = forAllTests(startExplorable, 120_000);
  const browser = forAllTests(launchBrowser);
  const key = (partner: string): string => service.partner(partner).key;

  /** The JSON of the service's response to a partner. */
  const ask = async <Body>(path: string, partner = 'all'): Promise<Body> =>
    JSON.parse((await service.get(path, { key: key(partner) })).body) as Body;

  /** Opens the explorer without a key, in a fresh browser context. */
  const open = async (options: BrowserContextOptions = {}): Promise<Explorer> => {
    const page = await (await browser.newContext(options)).newPage();
    const record = recordPage(page);
    await page.goto(`${service.url}/docs/explorer`);
    const settled = (): Promise<void> => page.locator('#explorer:not(:has([aria-busy=true])) .view h2').waitFor();
    const openView = async (address: string): Promise<void> => {
      await page.evaluate(setAddress(address));
      await settled();
    };
    return { page, record, open: openView, settled };
  };

  /** Opens it with a partner's key. */
  const explore = async (partner: string, options: BrowserContextOptions = {}): Promise<Explorer> => {
    const explorer = await open(options);
    await giveKey(explorer, key(partner));
    await explorer.settled();
    return explorer;
  };
  return { service, key, ask, open, explore };
}
