import { readFileSync } from 'node:fs';
import { request as forward } from 'node:http';
import { join } from 'node:path';
import {
  drop,
  sendError,
  sendForever,
  sendHalf,
  sendHtml,
  sendJson,
  startFaultyServer,
  type FaultyServer,
  type Misbehave,
} from '../support/faulty-server.ts';

const FAULTS: Readonly<Record<string, Misbehave>> = {
  dropped: drop,
  half: sendHalf,
  slow: sendForever,
  page: (response) => sendHtml(response, 200),
  redirect: (response) => response.writeHead(302, { location: '/page' }).end(),
};

/**
 * Starts a server that serves everything from one origin, as browsers require: the service under `/api`, faults under
 * `/faulty`, and the package's files under `/package`. The caller closes it.
 */
export function startOrigin(serviceUrl: string, packageFolder: string): Promise<FaultyServer> {
  let isBusy = false;
  return startFaultyServer((response, index, request) => {
    const { url = '', headers } = request;
    const [, part, rest = ''] = /^\/(api|faulty|package|smoke\.js)?(\/.*)?$/.exec(url) ?? [];
    if (part === 'api') {
      const forwarded = forward(serviceUrl + rest, { headers: { ...headers, host: 'localhost' } }, (reply) => {
        response.writeHead(reply.statusCode ?? 0, reply.headers);
        reply.pipe(response);
      });
      forwarded.end();
    } else if (part === 'faulty') {
      const [, fault = ''] = rest.split('/');
      if (fault !== 'busy') FAULTS[fault]?.(response, index, request);
      // Fails every other request.
      else if ((isBusy = !isBusy)) sendError(response, 429, 'rate_limited', { 'retry-after': '0' });
      else sendJson(response, { total: 7 });
    } else if (part === 'package' || part === 'smoke.js') {
      const file = part === 'package' ? join(packageFolder, rest) : new URL('smoke.js', import.meta.url);
      response.writeHead(200, { 'content-type': 'text/javascript' }).end(readFileSync(file));
    } else {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><link rel="icon" href="data:,">');
    }
  });
}
