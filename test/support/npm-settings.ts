const SETTINGS = /^(?:npm_config_(?:registry|cache|cafile|globalconfig|userconfig)|NODE_EXTRA_CA_CERTS)$/i;

/**
 * The variables of this process that npm needs to reach its registry. Node here is not the machine's own, beside which
 * npm would look for its global settings.
 */
export function npmSettings(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      SETTINGS.test(name) && value !== undefined ? [[name, value]] : [],
    ),
  );
}
