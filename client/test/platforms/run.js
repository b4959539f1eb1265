// Node, Deno and Bun: the package as it is installed, settings from the environment, and the outcome as JSON.
import * as client from 'partner-data-client';
import { smoke } from './smoke.js';

const { ORIGIN: origin, API_KEY: apiKey } = process.env;
console.log(JSON.stringify(await smoke(client, { origin, apiKey })));
