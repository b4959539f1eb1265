import { once } from 'node:events';
import { validate } from 'dockerfile-utils';
import { beforeAll, describe, expect, test } from 'vitest';
import { createClient, dataOf } from '../../test/support/client.ts';
import { findLastingPort } from '../../test/support/free-port.ts';
import { timeUntil } from '../../test/support/time-until.ts';
import { CONTAINERFILE, Image } from './image.ts';

/** Node 24 for Linux, and the rest of the base: distroless/nodejs22 is 141 MB, of which its Node is 119. */
const BASE_BYTES = 127e6 + 25e6;

/** Installing the packages takes longest: 25 seconds on a machine that does nothing else. */
const MAX_BUILD_MS = 300_000;

let image: Image;

beforeAll(async () => {
  image = await Image.build();
  return () => image.close();
}, MAX_BUILD_MS);

test('the Containerfile is valid', () => {
  expect(validate(CONTAINERFILE).map(({ message }) => message)).toEqual([]);
  expect(validate(CONTAINERFILE.replace('COPY --from', 'COPY --form'))).toHaveLength(1);
});

describe('the image', () => {
  test('is smaller than 200 MB', async () => {
    expect(BASE_BYTES + (await image.contentBytes())).toBeLessThan(200e6);
  });

  test(
    'serves as a user without rights, with one writable folder, and stops when it is told to',
    async () => {
      expect(Number(image.setting('USER').split(':')[0])).toBeGreaterThan(0);
      expect(image.setting('EXPOSE')).toBe('8080');
      expect(image.setting('VOLUME')).toBe('/data');
      expect(await image.succeeds('touch /app/file || touch /app/node_modules/.cache || mkdir /file')).toBe(false);
      expect(await image.succeeds('test "$TMPDIR" = /data && touch /data/file')).toBe(true);

      expect(await image.succeeds('echo Id,Name > /data/table.csv')).toBe(true);
      expect(await image.pds('convert', 'csv', '--sketch', '/data/table.csv')).toContain('"file": "table.csv"');

      await image.pds('import', '/app/sample');
      await image.pds('partner', 'create', 'acme', '--everything');
      const key = await image.pds('key', 'issue', 'acme');

      const settings = { PDS_PORT: String(await findLastingPort()), PDS_ADMIN_PORT: String(await findLastingPort()) };
      expect(await image.isHealthy(settings)).toBe(false);
      const service = image.start(settings);
      const exited = once(service, 'exit');
      await timeUntil(() => image.isHealthy(settings));

      const client = createClient(`http://127.0.0.1:${settings.PDS_PORT}`);
      expect(dataOf(await client.get('/v1/lead-entities?limit=1', { key }))).toHaveLength(1);
      const site = await fetch(`http://127.0.0.1:${settings.PDS_PORT}/docs`);
      expect(site.headers.get('content-type')).toContain('text/html');
      client.close();

      service.kill(image.setting('STOPSIGNAL') as NodeJS.Signals);
      expect(await exited).toEqual([0, null]);
    },
    MAX_BUILD_MS,
  );
});
