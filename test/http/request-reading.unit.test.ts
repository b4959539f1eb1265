import { describe, expect, test } from 'vitest';
import { networkOf } from '../../src/http/address-network.ts';
import { readBearerKey } from '../../src/http/authentication.ts';
import { chooseEncoding } from '../../src/http/compression.ts';
import { readPath, routedUrl } from '../../src/http/request-target.ts';

describe('the key in the Authorization header', () => {
  test('is what follows the scheme, in whatever letter case', () => {
    for (const value of ['Bearer abc', 'bearer abc', 'BEARER   abc']) {
      expect(readBearerKey(['Host', 'x', 'authorization', value])).toBe('abc');
    }
  });

  test('is not read where there is any doubt', () => {
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

describe('the network that an address is counted under', () => {
  test.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:DB8:1:2::9', '2001:db8:1:2::/64'],
    ['2001:db8::9', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['64:ff9b::192.0.2.7', '64:ff9b:0:0::/64'],
  ])('%s is of %s', (address, network) => {
    expect(networkOf(address)).toBe(network);
  });
});

describe('the encoding of an answer', () => {
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
  ])('for Accept-Encoding %s is %s', (accepted, encoding) => {
    expect(chooseEncoding(accepted)).toBe(encoding);
  });
});

describe('the path of an address', () => {
  test('is decoded, whether the address is absolute or not', () => {
    expect(readPath('/v1/contracts/a%2Fb?q=1')).toBe('/v1/contracts/a/b');
    expect(readPath('http://host:80/v1/contracts?q=1')).toBe('/v1/contracts');
  });

  test.each(['/v1/%ZZ', '/v1/%', '/v1/%FF', '/v1/a%00b', '/v1/contracts#part', '/v1/contracts?q=1#part'])(
    'is nothing where it cannot be read: %s',
    (url) => {
      expect(readPath(url)).toBeNull();
      expect(routedUrl(url)).toMatch(/^\/v1\/unreadable/);
    },
  );

  test('outside /v1 goes nowhere under it', () => {
    expect(routedUrl('/v10/%ZZ')).toBe('/unreadable/');
    expect(routedUrl('/%ZZ')).toBe('/unreadable/');
    expect(routedUrl('/health')).toBe('/health');
  });
});
