import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

/* Program: responds to every request with the bytes of one file, read at startup. */

const [port, file = ''] = process.argv.slice(2);
const body = readFileSync(file);
const headers = { 'content-type': 'application/json; charset=utf-8', 'content-length': body.length };

createServer((_, response) => {
  response.writeHead(200, headers);
  response.end(body);
}).listen(Number(port), '127.0.0.1');
