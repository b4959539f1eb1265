/**
 * Node's HTTP server. `import` would read every export of `node:http`, and so load its WebSocket client: 15 MB and 60 ms
 * of CPU time in each process.
 */
export const { createServer, STATUS_CODES } = process.getBuiltinModule('node:http');
