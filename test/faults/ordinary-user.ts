/**
 * What makes permissions hold for the command that follows, as for any user. Tests often run as root, whom they do
 * not stop; so root's right to pass over them is taken away. To run as somebody else would not do: a checkout may stand in a folder that
 * nobody else can enter.
 */
export const AS_ORDINARY_USER: readonly string[] =
  process.geteuid?.() === 0 ? ['setpriv', '--bounding-set=-dac_override,-dac_read_search,-fowner', '--'] : [];
