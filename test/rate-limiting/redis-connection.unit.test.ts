import { expect, test } from 'vitest';
import { reasonOf } from '../../src/rate-limiting/redis-rate-limiter.ts';
import { displayUrlOf } from '../../src/printable.ts';

const URL_WITH_SECRET = 'rediss://app-user:p%40ss%2Fword@redis.example:6380/3';

test('a reason never contains the credentials, in any encoding, nor a part of them', () => {
  const reasons = [
    'ERR failed for app-user',
    'ERR is p@ss/word right?',
    'ERR is p%40ss%2Fword right?',
    "ERR unknown command 'AUTH', with args beginning with: 'app-u' 'p@ss' ",
  ].map((message) => reasonOf(new Error(message), URL_WITH_SECRET));
  expect(reasons).toEqual(['ERR failed for …', 'ERR is … right?', 'ERR is … right?', "ERR unknown command 'AUTH'"]);
});

test('the reason names the first address if a host name has several and none responds', () => {
  const error = new AggregateError([new Error('connect ECONNREFUSED ::1:6379'), new Error('another')]);
  expect(reasonOf(error, URL_WITH_SECRET)).toBe('connect ECONNREFUSED ::1:6379');
});

test('a URL is shown without its credentials', () => {
  expect(displayUrlOf(URL_WITH_SECRET)).toBe('redis.example:6380/3');
  expect(displayUrlOf('postgres://app:one@db.example:5432/pds?password=two')).toBe('db.example:5432/pds');
});
