import { expect, test } from 'vitest';
import { reasonOf, shownRedisUrl } from '../../src/redis/redis-connection.ts';

const URL_WITH_SECRET = 'rediss://app-user:p%40ss%2Fword@redis.example:6380/3';

test('a reason never holds the log-in, in whichever form, nor the beginning of it', () => {
  const reasons = [
    'ERR failed for app-user',
    'ERR is p@ss/word right?',
    'ERR is p%40ss%2Fword right?',
    "ERR unknown command 'AUTH', with args beginning with: 'app-u' 'p@ss' ",
  ].map((message) => reasonOf(new Error(message), URL_WITH_SECRET));
  expect(reasons).toEqual(['ERR failed for …', 'ERR is … right?', 'ERR is … right?', "ERR unknown command 'AUTH'"]);
});

test('a reason is there where a name has several addresses, and none answers', () => {
  const error = new AggregateError([new Error('connect ECONNREFUSED ::1:6379'), new Error('another')]);
  expect(reasonOf(error, URL_WITH_SECRET)).toBe('connect ECONNREFUSED ::1:6379');
});

test('a URL is shown without its log-in', () => {
  expect(shownRedisUrl(URL_WITH_SECRET)).toBe('redis.example:6380/3');
});
