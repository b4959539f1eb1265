import { create } from '@platformatic/db';

/* A program: Platformatic DB over the plain tables. */

const [port, connectionString] = process.argv.slice(2);
const app = await create(import.meta.dirname, {
  server: { hostname: '127.0.0.1', port: Number(port), logger: { level: 'warn' } },
  db: { connectionString, schema: ['plain'], openapi: true, graphql: false },
  watch: false,
});
await app.start({ listen: true });
