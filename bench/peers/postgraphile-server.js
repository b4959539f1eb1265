import { createServer } from 'node:http';
import { postgraphile } from 'postgraphile';
import { makePgService } from 'postgraphile/adaptors/pg';
import { grafserv } from 'postgraphile/grafserv/node';
import { PostGraphileAmberPreset } from 'postgraphile/presets/amber';
import { PostGraphileConnectionFilterPreset } from 'postgraphile-plugin-connection-filter';

/* A program: PostGraphile over the plain tables. */

const [port, connectionString] = process.argv.slice(2);
const instance = postgraphile({
  extends: [PostGraphileAmberPreset, PostGraphileConnectionFilterPreset],
  // It would leave out filters on columns that no index begins with; deadlines are one.
  disablePlugins: ['PgIndexBehaviorsPlugin'],
  pgServices: [makePgService({ connectionString, schemas: ['plain'] })],
  grafserv: { graphqlPath: '/graphql', graphiql: false },
});
const server = createServer();
await instance.createServ(grafserv).addTo(server);
server.listen(Number(port), '127.0.0.1');
