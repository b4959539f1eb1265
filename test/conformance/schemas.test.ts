import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDirectories, type RecordDirectories } from '../support/data.ts';
import { startService, type TestService } from '../support/service.ts';

/** Enough to meet records of every kind of source, generated ones among them. */
const PAGES = 6;
const DETAILS_OF_A_PAGE = 20;

interface Document {
  paths: Record<string, object>;
}

let service: TestService;
let records: RecordDirectories;
let ajv: Ajv2020;
let document: Document;

beforeAll(async () => {
  records = createDirectories(5);
  service = await startService({ directories: records.first, partners: [{ name: 'all', everything: true }] });
  document = JSON.parse((await service.get('/openapi.json')).body) as Document;
  ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema(document, 'openapi');
}, 60_000);
afterAll(async () => {
  await service.close();
  records.remove();
});

/** What is wrong with an answer by the schema that the document gives for its path; empty where nothing is. */
async function faultsOf(path: string, url: string): Promise<{ faults: string; json: Page }> {
  const pointer = encodeURI(path.replaceAll('/', '~1'));
  const isValid = ajv.compile({
    $ref: `openapi#/paths/${pointer}/get/responses/200/content/application~1json/schema`,
  });
  const { status, body } = await service.get(url, { key: service.partner('all').key });
  const json = JSON.parse(body) as Page;
  return { faults: status === 200 && isValid(json) ? '' : `${url}: ${ajv.errorsText(isValid.errors)}`, json };
}

interface Page {
  data: { id: string }[];
  meta: { next_cursor: string | null };
}

test.each(['contracts', 'suppliers', 'solicitations', 'certifications', 'lead-entities', 'city-services', 'coops'])(
  'every answer of %s is what the OpenAPI document says',
  async (kind) => {
    const list = `/v1/${kind}`;
    const detail = `${list}/{id}`;
    let cursor: string | null = '';
    for (let page = 0; page < PAGES && cursor !== null; page += 1) {
      const { faults, json } = await faultsOf(list, `${list}?limit=100${cursor && `&cursor=${cursor}`}`);
      expect(faults).toBe('');
      cursor = json.meta.next_cursor;
      if (!(detail in document.paths)) continue;
      for (const { id } of json.data.slice(0, DETAILS_OF_A_PAGE)) {
        expect((await faultsOf(detail, `${list}/${id}`)).faults).toBe('');
      }
    }
  },
);
