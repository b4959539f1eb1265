// For Node, Deno and Bun: runs `smoke` on the installed package with settings from the environment, and prints JSON.
import * as client from 'partner-data-client';
import { smoke } from './smoke.js';

const { ORIGIN: origin, API_KEY: apiKey } = process.env;
console.log(JSON.stringify(await smoke(client, { origin, apiKey })));
