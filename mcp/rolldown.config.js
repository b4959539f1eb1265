/** Bundles the client, which no registry has. Other packages stay dependencies. */
export default {
  input: 'src/main.ts',
  platform: 'node',
  external: /^(?:@modelcontextprotocol\/|zod$)/,
  output: { file: 'dist/main.js', format: 'esm' },
};
