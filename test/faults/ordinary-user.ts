/**
 * A command prefix under which file permissions apply. Tests often run as root, which bypasses them, so the prefix
 * drops those capabilities. Running as another user is not an option: the checkout can be in a folder that only root
 * can enter.
 */
export const AS_ORDINARY_USER: readonly string[] =
  process.geteuid?.() === 0 ? ['setpriv', '--bounding-set=-dac_override,-dac_read_search,-fowner', '--'] : [];
