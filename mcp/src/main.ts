#!/usr/bin/env node
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import manifest from '../package.json' with { type: 'json' };
import { createServer } from './server.ts';
import { createService, USAGE } from './service.ts';

// Standard output belongs to the protocol: everything for people goes to standard error.

const { argv, env, stdout, stderr } = process;
const [option, ...others] = argv.slice(2);
const complain = ({ message }: Error): boolean => stderr.write(`partner-data-mcp: ${message}\n`);

try {
  if (option === '--help') stdout.write(USAGE);
  else if (option === '--version') stdout.write(`${manifest.version}\n`);
  // It could be a key, so it is not quoted.
  else if (option !== undefined || others.length > 0) throw new Error('unknown argument (see --help)');
  else {
    const service = createService(env, Date.now);
    serveStdio(() => createServer(service, manifest.version), { onerror: complain });
  }
} catch (error) {
  complain(error as Error);
  process.exitCode = 2;
}
