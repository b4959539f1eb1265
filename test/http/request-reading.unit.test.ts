import { describe, expect, test } from 'vitest';
import { readBearerKey, readPath, routedUrl } from '../../src/http/request/request-head.ts';
import { chooseEncoding } from '../../src/http/response/send-text.ts';

describe('reading the key from the Authorization header', () => {
  test('accepts the scheme in any letter case', () => {
    for (const value of ['Bearer abc', 'bearer abc', 'BEARER   abc']) {
      expect(readBearerKey(['Host', 'x', 'authorization', value])).toBe('abc');
    }
  });

  test('finds no key if the header is malformed or repeated', () => {
    for (const value of [
      'abc',
      'Bearer',
      'Bearer ',
      'Basic abc',
      'Bearer a b',
      'Bearerabc',
      'Bearer abc, Bearer abc',
    ]) {
      expect(readBearerKey(['Authorization', value])).toBeNull();
    }
    expect(readBearerKey([])).toBeNull();
    expect(readBearerKey(['Authorization', 'Bearer abc', 'AUTHORIZATION', 'Bearer abc'])).toBeNull();
    expect(readBearerKey(['X-Header', 'Authorization', 'Y-Header', 'Bearer abc'])).toBeNull();
  });
});

describe('choosing the content encoding', () => {
  test.each([
    [undefined, 'identity'],
    ['', 'identity'],
    ['identity', 'identity'],
    ['gzip', 'gzip'],
    ['gzip, deflate, br, zstd', 'br'],
    ['br;q=0.5, gzip', 'gzip'],
    ['br;q=0, gzip;q=0', 'identity'],
    ['*', 'br'],
    ['*;q=0', 'identity'],
    ['identity;q=0', 'identity'],
    ['identity;q=0, gzip', 'gzip'],
    ['gzip;q=0, *', 'br'],
    ['GZIP', 'gzip'],
    ['zstd', 'identity'],
  ])('for Accept-Encoding %s, chooses %s', (accepted, encoding) => {
    expect(chooseEncoding(accepted)).toBe(encoding);
  });
});

describe('reading the path of a URL', () => {
  test('decodes the path of an absolute or relative URL', () => {
    expect(readPath('/v1/contracts/a%2Fb?q=1')).toBe('/v1/contracts/a/b');
    expect(readPath('http://host:80/v1/contracts?q=1')).toBe('/v1/contracts');
  });

  test.each(['/v1/%ZZ', '/v1/%', '/v1/%FF', '/v1/a%00b', '/v1/contracts#part', '/v1/contracts?q=1#part'])(
    'finds no path in an unreadable URL: %s',
    (url) => {
      expect(readPath(url)).toBeNull();
      expect(routedUrl({ url })).toMatch(/^\/v1\/unreadable/);
    },
  );

  test('never routes a URL from outside /v1 to a path under /v1', () => {
    expect(routedUrl({ url: '/v10/%ZZ' })).toBe('/unreadable/');
    expect(routedUrl({ url: '/%ZZ' })).toBe('/unreadable/');
    expect(routedUrl({ url: '/health' })).toBe('/health');
  });
});
